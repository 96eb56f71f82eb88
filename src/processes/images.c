// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"

/* The bound of open files; ulimit -n may make it lower. */
#define MOST_FILES 512
/* Unused entries are forgotten when all are 2 * n_last plus this. */
#define MANY_ENTRIES 1024

/* A file has an entry for each time that it was written over. find_by_hash() tries the newest. */
#define MOST_OF_ONE 64

/* A report begins a period, and names hits of the one before. So hits count in both. */
#define HIT_PERIODS 2

/* The least time between two looks of images_add() at a file. A report looks at open files. */
#define LOOK_NS (NS_PER_S / 100)
/* A file system may be slow. The next report goes on with the files that this one did not reach. */
#define REFRESH_NS (NS_PER_S / 4)

struct images *images_new(struct files *files)
{
	const size_t most = files_most_handles() / 4 * 3; /* the rest are roots and perf maps */
	struct images *im = xcalloc(1, sizeof(*im));

	im->files = files;
	im->most_opened = most < MOST_FILES ? most : MOST_FILES;
	im->twin = HANDLE_NONE;
	im->period = 1;
	return im;
}

/*
 * If the process has gone and its root is not known, take ours: finders accept a file only if it is
 * the mapped one.
 */
void images_find_root(const struct images *im, struct mapper *mapper)
{
	const int root = roots_of(im->files, mapper->pid);

	if (root >= 0)
		mapper->root = root;
	else if (mapper->root < 0)
		mapper->root = roots_of(im->files, (uint32_t)getpid());
}

static void entry_free(struct image_entry *entry)
{
	free((char *)entry->where.path);
	free(entry);
}

void images_free(struct images *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->n; i++) {
		files_close(im->files, im->entries[i]->file.handle);
		entry_free(im->entries[i]);
	}
	files_close(im->files, im->twin);
	log_few_end(&im->refused, "files that are refused");
	free(im->entries);
	u64_map_fini(&im->index);
	u64_map_fini(&im->newest);
	free(im);
}

/* NULL: @image is IMAGE_NONE, or was forgotten. */
static struct image_entry *entry_of(const struct images *im, uint32_t image)
{
	const uint32_t *at = image == IMAGE_NONE ? NULL : u64_map_get(&im->index, image);

	return at ? im->entries[*at] : NULL;
}

/* --- handles --- */

static bool is_file_open(const struct image_entry *entry)
{
	return entry->file.handle != HANDLE_NONE;
}

static void close_entry_file(struct images *im, struct image_entry *entry)
{
	if (!is_file_open(entry))
		return;
	files_close(im->files, entry->file.handle);
	entry->file.handle = HANDLE_NONE;
	im->n_opened--;
}

/* The least used file has the lowest rank. */
static uint64_t rank_of_use(const struct images *im, const struct image_entry *entry)
{
	const bool is_hit = entry->hit_in && entry->hit_in + HIT_PERIODS > im->period;

	return entry->last_used | (uint64_t)is_hit << 63;
}

static bool is_limit_reached(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

void images_note_error(struct images *im, int err)
{
	if (is_limit_reached(err))
		log_warn_once(
			"only %zu files are kept open%s: some frames have no name, because their "
			"files have gone",
			im->n_kept, im->most_opened < MOST_FILES ? " (see ulimit -Hn)" : "");
}

/* Close the least used file, but not that of @keep. False: no other file is open. */
static bool close_least_used(struct images *im, const struct image_entry *keep)
{
	struct image_entry *least = NULL;

	for (size_t i = 0; i < im->n; i++)
		if (im->entries[i] != keep && is_file_open(im->entries[i]) &&
		    (!least || rank_of_use(im, im->entries[i]) < rank_of_use(im, least)))
			least = im->entries[i];
	if (!least)
		return false;
	im->n_kept = im->n_kept ? im->n_kept : im->n_opened;
	close_entry_file(im, least);
	return true;
}

/* Open the file that @mapper maps as @m. Closes files of others if too many are open. */
static bool request_file(struct images *im, struct image_entry *entry, const struct mapper *mapper,
			 const struct mapping *m, struct held_file *ret)
{
	const int32_t root = roots_handle(im->files, mapper->root);
	struct error e;
	int err;

	if (im->n_opened >= im->most_opened)
		(void)close_least_used(im, entry);
	do
		err = files_open(im->files, mapper->pid, root, m, ret, &e);
	while (is_limit_reached(err) && close_least_used(im, entry));
	entry->is_refused = err && (err == -EACCES || entry->is_refused);
	if (!err)
		return true;
	images_note_error(im, err);
	log_debug("no symbols for %s now: %s", m->path, e.text);
	return false;
}

/*
 * Was the file written over after the mapping? @file is its present state. False if @stamp has a
 * build ID, which is the better proof.
 */
static bool stamp_is_before(const struct file_stamp *stamp, const struct file_fact *file)
{
	const uint64_t written = file->changed * NS_PER_S + file->changed_ns;
	const uint64_t age = clock_ns(CLOCK_MONOTONIC) - stamp->mapped_at;

	return stamp->mapped_at && !stamp->n && written > clock_ns(CLOCK_REALTIME) - age;
}

static bool is_other_file(const struct image_entry *entry, const struct held_file *file)
{
	return entry->file.fact.is_there && !file_fact_is_equal(&entry->file.fact, &file->fact);
}

/* Has @pause_ns passed since the last look? A process may map one file 60,000 times. */
static bool may_look(struct image_entry *entry, uint64_t pause_ns)
{
	const uint64_t at = clock_ns(CLOCK_MONOTONIC_COARSE);

	if (entry->looked_at && at <= entry->looked_at + pause_ns)
		return false;
	entry->looked_at = at;
	return true;
}

static bool is_state_new(const struct images *im, const struct image_entry *entry)
{
	struct file_fact now;

	files_look(im->files, &entry->file, &now);
	return now.is_there && !file_fact_is_equal(&entry->file.fact, &now);
}

/* Has somebody written over the open file? With a build ID, find_by_hash() tells files apart. */
static bool is_written_over(const struct images *im, struct image_entry *entry)
{
	return is_file_open(entry) && !entry->stamp.n && may_look(entry, LOOK_NS) &&
	       is_state_new(im, entry);
}

/*
 * Somebody wrote over the file in place. The former contents are lost, and the symbols, which
 * parsers read from the file itself, have changed or gone. The next images_add() makes a new entry.
 */
static void give_up_image(struct images *im, struct image_entry *entry)
{
	log_debug("%s was written over: no symbols for it any more", entry->where.path);
	entry->is_bad = true;
	entry->is_newer = true;
	im->version++;
	close_entry_file(im, entry);
}

/* Give @file to @entry if it is the same file, unchanged. False: it is not, and is closed. */
static bool adopt_same(struct images *im, struct image_entry *entry, const struct held_file *file)
{
	if (!entry->is_bad && stamp_is_before(&entry->stamp, &file->fact))
		give_up_image(im, entry);
	if (entry->is_bad || entry->is_newer || is_other_file(entry, file)) {
		files_close(im->files, file->handle);
		return false;
	}
	entry->file = *file;
	entry->looked_at = 0;
	im->n_opened++;
	im->version += entry->is_missed;
	entry->is_missed = false;
	return true;
}

/* Open the entry's file unless it is open. False: no finder could find it, or it has changed. */
static bool open_entry_file(struct images *im, struct image_entry *entry)
{
	struct held_file file;

	if (is_file_open(entry))
		return true;
	return !entry->is_bad && entry->kind == IMAGE_FILE &&
	       request_file(im, entry, &entry->mapper, &entry->where, &file) &&
	       adopt_same(im, entry, &file);
}

/* --- the kind and the name of a mapped object --- */

/* "libc.so.6", "[vdso]", "[anon]", "memfd:code". A part of @path, or a constant. */
static const char *mapped_module(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (path[0] == '\0')
		return "[anon]";
	if (strncmp(path, "/memfd:", 7) == 0)
		return path + 1; /* its name may have a slash */
	return slash && slash[1] ? slash + 1 : path;
}

static enum image_kind mapped_kind(const struct mapping *m)
{
	if (m->inode)
		return IMAGE_FILE;
	/* All 64-bit processes have the same vdso as we. 32-bit processes have another one. */
	if (strcmp(m->path, "[vdso]") == 0 && m->start > UINT32_MAX)
		return IMAGE_VDSO;
	return IMAGE_NO_FILE;
}

/* False for the kernel's own pages. */
static bool mapped_is_memory(const struct mapping *m)
{
	static const char *const files[] = { "/memfd:", "/dev/zero", "/dev/shm/", "/SYSV" };
	static const char *const kernels[] = { "[vdso]", "[vsyscall]", "[uprobes]",
					       "[path too long]", "[path not known]" };

	for (size_t i = 0; i < ARRAY_SIZE(files) && m->inode; i++)
		if (strncmp(m->path, files[i], strlen(files[i])) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(m->path, kernels[i]) == 0)
			return false;
	return !m->inode;
}

/* Have both the same build ID, or both none? */
static bool stamp_is_same(const struct file_stamp *a, const struct file_stamp *b)
{
	/* Most differ at once. An inode number that is used again and again has many entries. */
	return a->n == b->n && a->bytes[0] == b->bytes[0] && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* --- entries --- */

void images_hold(struct images *im, struct image_entry *image)
{
	if (image->n_users++ == 0)
		im->held_bytes += sizeof(*image) + strlen(image->where.path);
}

void images_release(struct images *im, struct image_entry *image)
{
	if (--image->n_users == 0)
		im->held_bytes -= sizeof(*image) + strlen(image->where.path);
}

bool images_is_known(const struct images *im, uint32_t image)
{
	return entry_of(im, image) != NULL;
}

/* Add @entry to the maps. Entries of one hash form a list, newest first. */
static void link_image(struct images *im, struct image_entry *entry, size_t index)
{
	bool is_new;
	uint32_t *link = u64_map_put(&im->newest, entry->hash, entry->number, &is_new);

	*u64_map_put(&im->index, entry->number, 0, NULL) = (uint32_t)index;
	entry->older = is_new ? IMAGE_NONE : *link;
	*link = entry->number;
}

void images_forget_unused(struct images *im)
{
	size_t n = 0;

	if (im->n < 2 * im->n_last + MANY_ENTRIES)
		return;
	u64_map_clear(&im->newest);
	u64_map_clear(&im->index);
	for (size_t i = 0; i < im->n; i++) {
		struct image_entry *entry = im->entries[i];

		if (entry->n_users) {
			link_image(im, entry, n);
			im->entries[n++] = entry;
			continue;
		}
		close_entry_file(im, entry);
		entry_free(entry);
	}
	im->n = im->n_last = n;
}

/*
 * The kernel may reuse an inode number at once, so build IDs decide if both are known. Each root
 * has entries of its own, because it has its own debug files.
 */
static bool is_same_file(const struct images *im, const struct image_entry *entry,
			 const struct mapping *m, const struct file_stamp *id, int root)
{
	return entry->kind == IMAGE_FILE && entry->where.dev == m->dev &&
	       entry->where.inode == m->inode &&
	       (!id->n || !entry->stamp.n || stamp_is_same(&entry->stamp, id)) &&
	       (entry->mapper.root < 0 || root < 0 ||
		roots_is_one(im->files, entry->mapper.root, root));
}

static void set_where(struct image_entry *entry, const struct mapping *m)
{
	const char *path = xstrdup(m->path);

	free((char *)entry->where.path);
	entry->where = *m;
	entry->where.path = path;
}

static struct image_entry *add_image_entry(struct images *im, enum image_kind kind,
					   const struct mapping *m, uint64_t hash)
{
	struct image_entry *entry = xcalloc(1, sizeof(*entry));

	*entry = (struct image_entry){ .number = ++im->n_made,
				       .kind = kind,
				       .hash = hash,
				       .is_memory = mapped_is_memory(m),
				       .file.handle = HANDLE_NONE,
				       .mapper.root = -1 };
	set_where(entry, m);
	link_image(im, entry, im->n);
	array_push(im->entries, im->n, im->capacity, entry);
	return entry;
}

static struct image_entry *find_by_hash(const struct images *im, uint64_t hash,
					enum image_kind kind, const struct mapping *m,
					const struct file_stamp *stamp, int root)
{
	const uint32_t *newest = u64_map_get(&im->newest, hash);
	struct image_entry *entry = newest ? entry_of(im, *newest) : NULL;

	for (unsigned n = 0; entry && n < MOST_OF_ONE; entry = entry_of(im, entry->older), n++)
		if (kind == IMAGE_FILE
			    ? is_same_file(im, entry, m, stamp, root)
			    : entry->kind == kind && !strcmp(mapped_module(entry->where.path),
							     mapped_module(m->path)))
			return entry;
	return NULL;
}

/*
 * Open the file that @mapper has just mapped as @m. If it is not the entry's file, it gets a new
 * entry. Returns the file's entry.
 */
static struct image_entry *open_mapped(struct images *im, struct image_entry *entry,
				       const struct mapper *mapper, const struct mapping *m,
				       const struct file_stamp *stamp)
{
	struct held_file file;
	const bool is_found = request_file(im, entry, mapper, m, &file);

	if (is_found && is_other_file(entry, &file)) {
		entry = add_image_entry(im, IMAGE_FILE, m, entry->hash);
		entry->stamp = *stamp;
	}
	if (entry->n_users)
		im->held_bytes += strlen(m->path) - strlen(entry->where.path);
	set_where(entry, m);
	entry->mapper = *mapper;
	if (is_found && adopt_same(im, entry, &file))
		entry->last_used = ++im->clock;
	return entry;
}

struct image_entry *images_add(struct images *im, struct mapper *mapper, const struct mapping *m,
			       const struct file_stamp *stamp)
{
	const enum image_kind kind = mapped_kind(m);
	const char *module = mapped_module(m->path);
	const uint64_t hash = kind == IMAGE_FILE
				      ? hash_mix(hash_mix(m->dev) ^ m->inode)
				      : hash_mix(kind ^ hash_bytes(module, strlen(module)));
	struct image_entry *entry;
	bool opens;

	entry = find_by_hash(im, hash, kind, m, stamp, mapper->root);
	/* If nobody reads @entry any more, the file at its place may be another one. */
	opens = kind == IMAGE_FILE &&
		(!entry || (!is_file_open(entry) && may_look(entry, entry->is_bad ? LOOK_NS : 0)));
	if (opens) {
		images_find_root(im, mapper);
		entry = find_by_hash(im, hash, kind, m, stamp, mapper->root);
	}
	if (!entry || entry->is_newer || is_written_over(im, entry)) {
		entry = add_image_entry(im, kind, m, hash);
		opens = kind == IMAGE_FILE;
	}
	if (stamp->n || (!entry->stamp.n && !entry->file.fact.is_there))
		entry->stamp = *stamp;
	return opens && !is_file_open(entry) ? open_mapped(im, entry, mapper, m, stamp) : entry;
}

void images_note_hit(const struct images *im, struct image_entry *image)
{
	image->hit_in = im->period;
}

void images_refresh(struct images *im)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + REFRESH_NS;

	im->period++;
	for (size_t i = 0; i < im->n && clock_ns(CLOCK_MONOTONIC) < until; i++) {
		struct image_entry *entry = im->entries[im->n_refreshed++ % im->n];

		if (is_file_open(entry) && is_state_new(im, entry))
			give_up_image(im, entry);
	}
}

uint64_t images_version(const struct images *im)
{
	return im->version;
}

/* --- for readers of files --- */

bool images_about(const struct images *im, uint32_t image, struct image_about *ret)
{
	const struct image_entry *entry = entry_of(im, image);

	*ret = (struct image_about){};
	if (!entry)
		return false;
	ret->kind = entry->kind;
	ret->is_memory = entry->is_memory;
	ret->is_bad = entry->is_bad;
	ret->is_changed = entry->is_newer;
	ret->stamp = entry->stamp;
	ret->root = roots_handle(im->files, entry->mapper.root);
	ret->path = xstrdup(entry->where.path);
	ret->module = mapped_module(ret->path);
	return true;
}

void image_about_fini(struct image_about *about)
{
	free(about->path);
}

/* Another file of the build: one that is open, or the one at the path below our own root. */
static bool open_twin(struct images *im, const struct image_entry *entry, struct held_file *ret)
{
	struct error e;

	for (size_t i = im->n; entry->stamp.n && i-- > 0;) {
		*ret = im->entries[i]->file;
		if (is_file_open(im->entries[i]) &&
		    stamp_is_same(&im->entries[i]->stamp, &entry->stamp))
			return true;
	}
	files_close(im->files, im->twin);
	im->twin = HANDLE_NONE;
	if (!entry->stamp.n ||
	    files_open(im->files, NO_PROCESS, HANDLE_NONE, &entry->where, ret, &e))
		return false;
	im->twin = ret->handle;
	return true;
}

bool images_open(struct images *im, uint32_t image, struct held_file *ret, bool *is_twin)
{
	struct image_entry *entry = entry_of(im, image);

	*is_twin = false;
	if (!entry || entry->is_bad)
		return false;
	entry->last_used = ++im->clock;
	if (open_entry_file(im, entry)) {
		*ret = entry->file;
		return true;
	}
	if (entry->file.fact.is_there) /* it was open, and made room for another */
		images_note_error(im, -EMFILE);
	if (entry->is_refused)
		log_few(&im->refused,
			"no symbols and no unwind table for %s: %s (FUSE without allow_other "
			"refuses root, too)",
			mapped_module(entry->where.path), error_words(-EACCES));
	entry->is_missed = !entry->is_bad;
	*is_twin = true;
	return entry->is_missed && entry->kind == IMAGE_FILE && open_twin(im, entry, ret);
}

void images_give_up(struct images *im, uint32_t image, bool is_changed)
{
	struct image_entry *entry = entry_of(im, image);

	if (entry && is_changed)
		give_up_image(im, entry);
	if (!entry)
		return;
	entry->is_bad = true;
	close_entry_file(im, entry);
}

struct files *images_files(const struct images *im)
{
	return im->files;
}
