#include "processes/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/image.h"
#include "processes/images_internal.h"
#include "processes/mapped.h"
#include "reader/debug_symbols.h"
#include "reader/roots.h"

#define MAX_FILES 512
#define MAX_IMAGES 256
#define MAX_IMAGE_BYTES (12ULL << 20)
/* Files that nobody refers to are forgotten when there are so many more than twice the last time.
 */
#define MANY_ENTRIES 1024

struct images *images_new(struct debuginfod *servers)
{
	struct images *im = xcalloc(1, sizeof(*im));
	struct rlimit limit;

	im->debug = debug_symbols_new(servers);
	im->roots = roots_new();
	im->max_files = MAX_FILES;
	/* Half of what we may open: probes and maps take descriptors too. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < im->max_files)
		im->max_files = (size_t)(limit.rlim_cur / 2);
	return im;
}

void images_bound_files(struct images *im, size_t most)
{
	const size_t n_roots = most / 4;

	roots_bound(im->roots, n_roots);
	if (most - n_roots < im->max_files)
		im->max_files = most - n_roots;
}

void images_free(struct images *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->n; i++) {
		image_close(im->entries[i].image);
		cleanup_close_fd(&im->entries[i].fd);
		free(im->entries[i].path);
	}
	free(im->entries);
	debug_symbols_free(im->debug);
	roots_free(im->roots);
	u64_map_fini(&im->newest);
	free(im);
}

static void close_file(struct images *im, struct entry *entry)
{
	if (entry->fd < 0)
		return;
	cleanup_close_fd(&entry->fd);
	im->n_files--;
}

static void close_image(struct images *im, struct entry *entry)
{
	if (!entry->image)
		return;
	image_freep(&entry->image);
	im->n_images--;
	im->bytes -= entry->bytes;
	entry->bytes = 0;
}

/* The least recently used entry but @keep that has a descriptor, or an image in memory. */
static struct entry *least_used(struct images *im, bool of_images, const struct entry *keep)
{
	struct entry *least = NULL;

	for (size_t i = 0; i < im->n; i++) {
		struct entry *entry = &im->entries[i];
		bool is_candidate = of_images ? entry->image != NULL : entry->fd >= 0;

		if (is_candidate && entry != keep &&
		    (!least || entry->last_used < least->last_used))
			least = entry;
	}
	return least;
}

static bool same_state(const struct entry *entry, const struct stat *st)
{
	return entry->size == (uint64_t)st->st_size &&
	       entry->changed.tv_sec == st->st_mtim.tv_sec &&
	       entry->changed.tv_nsec == st->st_mtim.tv_nsec;
}

static bool is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

static void tell_shortage(struct images *im)
{
	if (im->has_told)
		return;
	im->has_told = true;
	log_warn("only %zu files are kept open%s: some frames have no name, since theirs are gone",
		 im->n_kept, im->max_files < MAX_FILES ? " (see ulimit -Hn)" : "");
}

void images_note_error(struct images *im, int err)
{
	if (is_shortage(err))
		tell_shortage(im);
}

static bool close_least_used(struct images *im, const struct entry *keep)
{
	struct entry *least = least_used(im, false, keep);

	if (!least)
		return false;
	if (!im->n_kept)
		im->n_kept = im->n_files;
	least->is_closed = true;
	close_file(im, least);
	return true;
}

void images_hold_file(struct images *im, struct entry *entry, int fd, const struct stat *st)
{
	entry->size = st->st_size;
	entry->changed = st->st_mtim;
	entry->is_opened = true;
	entry->fd = fd;
	im->n_files++;
	im->version += entry->is_missed;
	entry->is_missed = false;
}

static int find_file(const struct entry *entry, int *fd, struct error *e)
{
	int err = mapping_open(entry->pid, &entry->where, fd, e);

	if (err && entry->root >= 0)
		err = mapping_open_in(entry->root, &entry->where, fd, e);
	return err;
}

/* Hold the entry's file by a descriptor, if it can be had and is still the same. */
static bool open_file(struct images *im, struct entry *entry)
{
	if (entry->fd >= 0)
		return true;
	if (entry->is_bad || entry->kind != IMAGE_FILE)
		return false;
	if (im->n_files >= im->max_files)
		(void)close_least_used(im, entry);

	cleanup_close int fd = -1;
	struct error e;
	struct stat st;
	int err = find_file(entry, &fd, &e);

	while (is_shortage(err) && close_least_used(im, entry))
		err = find_file(entry, &fd, &e);
	if (err) {
		images_note_error(im, err);
		log_debug("%s has no names now: %s", entry->where.path, e.text);
		return false;
	}
	if (fstat(fd, &st) < 0 || (entry->is_opened && !same_state(entry, &st)))
		return false;
	entry->is_newer = stamp_is_before(&entry->stamp, &st);
	if (entry->is_newer)
		return false;
	images_hold_file(im, entry, TAKE_FD(fd), &st);
	return true;
}

bool images_is_stale(const struct entry *entry)
{
	struct stat st;

	return entry->fd >= 0 && fstat(entry->fd, &st) == 0 && !same_state(entry, &st);
}

/* --- entries --- */

void images_hold(struct images *im, uint32_t image)
{
	if (image != IMAGE_NONE)
		im->entries[image].n_users++;
}

void images_release(struct images *im, uint32_t image)
{
	if (image != IMAGE_NONE)
		im->entries[image].n_users--;
}

uint64_t images_serial(const struct images *im, uint32_t image)
{
	return image == IMAGE_NONE ? 0 : im->entries[image].serial;
}

size_t images_count(const struct images *im)
{
	return im->n_used;
}

static void forget_entry(struct images *im, struct entry *entry)
{
	close_image(im, entry);
	close_file(im, entry);
	free(entry->path);
	*entry = (struct entry){ .is_free = true, .fd = -1, .root = -1 };
	im->n_used--;
}

/* Of one hash the newest goes first. */
static void link_entry(struct images *im, uint32_t number)
{
	struct entry *entry = &im->entries[number];
	bool is_new;
	uint32_t *link = u64_map_put(&im->newest, entry->hash, number, &is_new);

	entry->older = IMAGE_NONE;
	if (is_new)
		return;
	while (*link != IMAGE_NONE && im->entries[*link].serial > entry->serial)
		link = &im->entries[*link].older;
	entry->older = *link;
	*link = number;
}

/*
 * No process has these mapped, and no history tells that one had. Their numbers are used again;
 * what must not be mistaken has the serial number.
 */
static void forget_unused(struct images *im)
{
	if (im->n_used < 2 * im->n_last + MANY_ENTRIES)
		return;
	u64_map_clear(&im->newest);
	for (size_t i = 0; i < im->n; i++) {
		struct entry *entry = &im->entries[i];

		if (!entry->is_free && !entry->n_users)
			forget_entry(im, entry);
		if (!entry->is_free)
			link_entry(im, (uint32_t)i);
	}
	im->n_last = im->n_used;
	im->free_from = 0;
}

static uint32_t free_number(struct images *im)
{
	while (im->free_from < im->n && !im->entries[im->free_from].is_free)
		im->free_from++;
	if (im->free_from == im->n)
		array_push(im->entries, im->n, im->capacity, (struct entry){ .is_free = true });
	return (uint32_t)im->free_from;
}

/*
 * The kernel gives an inode's number to another file at once; and debug files are those of a
 * process's own root.
 */
static bool is_same_file(const struct images *im, const struct entry *entry,
			 const struct mapping *m, const struct file_stamp *id, int root)
{
	return entry->kind == IMAGE_FILE && entry->dev == m->dev && entry->inode == m->inode &&
	       (!id->n || !entry->stamp.n || stamp_is_same(&entry->stamp, id)) &&
	       (entry->root < 0 || root < 0 || roots_is_one(im->roots, entry->root, root));
}

int images_root(struct images *im, uint32_t pid)
{
	return roots_of(im->roots, pid);
}

static void set_path(struct entry *entry, const char *path)
{
	free(entry->path);
	entry->path = xstrdup(path);
	entry->module = mapped_module(entry->path);
}

static uint32_t add_entry(struct images *im, enum image_kind kind, const struct mapping *m,
			  uint64_t hash)
{
	uint32_t number = free_number(im);
	struct entry *entry = &im->entries[number];

	*entry = (struct entry){ .kind = kind,
				 .serial = ++im->n_made,
				 .hash = hash,
				 .dev = m->dev,
				 .inode = m->inode,
				 .is_memory = mapped_is_memory(m),
				 .fd = -1,
				 .root = -1 };
	set_path(entry, m->path);
	im->n_used++;
	link_entry(im, number);
	return number;
}

static void set_place(struct entry *entry, uint32_t pid, int root, const struct mapping *m)
{
	if (strcmp(entry->path, m->path) != 0)
		set_path(entry, m->path);
	entry->where = *m;
	entry->where.path = entry->path;
	entry->pid = pid;
	entry->root = root;
}

uint32_t images_add(struct images *im, uint32_t pid, int root, const struct mapping *m,
		    const struct file_stamp *stamp)
{
	enum image_kind kind = mapped_kind(m);
	const char *module = mapped_module(m->path);
	uint64_t hash = kind == IMAGE_FILE ? hash_mix(hash_mix(m->dev) ^ m->inode)
					   : hash_mix(kind ^ hash_bytes(module, strlen(module)));

	forget_unused(im);

	const uint32_t *newest = u64_map_get(&im->newest, hash);
	uint32_t number = newest ? *newest : IMAGE_NONE;

	for (; number != IMAGE_NONE; number = im->entries[number].older) {
		struct entry *entry = &im->entries[number];

		if (kind == IMAGE_FILE ? is_same_file(im, entry, m, stamp, root)
				       : entry->kind == kind && !strcmp(entry->module, module))
			break;
	}
	if (number == IMAGE_NONE || images_is_stale(&im->entries[number]) ||
	    im->entries[number].is_newer)
		number = add_entry(im, kind, m, hash);

	struct entry *entry = &im->entries[number];

	if (stamp->n || (!entry->stamp.n && entry->fd < 0 && !entry->is_opened))
		entry->stamp = *stamp;
	if (entry->kind == IMAGE_FILE && entry->fd < 0) {
		set_place(entry, pid, root, m);
		if (!entry->image && open_file(im, entry))
			entry->last_used = ++im->clock;
	}
	return number;
}

const char *images_module(const struct images *im, uint32_t image)
{
	return image == IMAGE_NONE ? NULL : im->entries[image].module;
}

bool images_has_places(const struct images *im, uint32_t image)
{
	return image != IMAGE_NONE && im->entries[image].kind != IMAGE_NO_FILE;
}

bool images_is_file(const struct images *im, uint32_t image)
{
	return image != IMAGE_NONE && im->entries[image].kind == IMAGE_FILE &&
	       !images_may_be_made(im, image);
}

bool images_is_behind_call(const struct images *im, uint32_t image, uint64_t vaddr)
{
	return image != IMAGE_NONE && im->entries[image].image &&
	       image_is_behind_call(im->entries[image].image, vaddr);
}

bool images_may_be_made(const struct images *im, uint32_t image)
{
	return image != IMAGE_NONE && im->entries[image].is_memory && !im->entries[image].image;
}

/* What was found at the path is of the build that the process had mapped, if that is known. */
static int check_build(const struct entry *entry, struct error *e)
{
	if (!entry->stamp.n || stamp_is_of(&entry->stamp, entry->image))
		return 0;
	return error_set(e, -ESTALE, "%s: another build is there now", entry->where.path);
}

/* Its descriptor may have been closed to make room. */
static bool lost_file(struct images *im, struct entry *entry)
{
	if (entry->is_closed)
		tell_shortage(im);
	entry->is_missed = true;
	return false;
}

/*
 * It was written over in place: what was mapped of it is not known any more, and its symbols, which
 * are read where they lie, are others now, or were cut off. Who maps it from here on has a new
 * entry.
 */
static void give_up(struct images *im, struct entry *entry)
{
	log_debug("%s was written over: it has no names any more", entry->where.path);
	entry->is_bad = true;
	entry->is_newer = true;
	im->version++;
	close_image(im, entry);
	close_file(im, entry);
}

static bool open_image(struct images *im, struct entry *entry)
{
	struct error e;
	int err;

	if (images_is_stale(entry) || (entry->image && image_is_damaged(entry->image))) {
		give_up(im, entry);
		return false;
	}
	if (entry->image)
		return true;
	if (entry->is_bad || entry->kind == IMAGE_NO_FILE)
		return false;
	if (entry->kind == IMAGE_VDSO)
		err = mapped_open_vdso(&entry->image, &e);
	else if (open_file(im, entry) || images_find_twin(im, entry))
		err = image_open_fd(entry->fd, entry->module, &entry->image, &e);
	else
		return lost_file(im, entry);
	if (!err)
		err = check_build(entry, &e);
	if (err) {
		log_debug("%s has no names: %s", entry->module, e.text);
		entry->is_bad = true;
		image_freep(&entry->image);
		close_file(im, entry);
		return false;
	}
	im->n_images++;
	if (entry->kind == IMAGE_FILE)
		debug_symbols_add(im->debug, entry->image, entry->root, entry->where.path,
				  entry->module);
	return true;
}

/* After a look-up in @used: its index may have been built by it. */
static void keep_bounds(struct images *im, struct entry *used)
{
	im->bytes -= used->bytes;
	used->bytes = image_bytes(used->image);
	im->bytes += used->bytes;
	while (im->n_images > MAX_IMAGES || im->bytes > MAX_IMAGE_BYTES) {
		struct entry *least = least_used(im, true, used);

		if (!least)
			return;
		close_image(im, least);
	}
}

void images_look_up(struct images *im, uint32_t image, uint64_t offset, struct image_place *ret)
{
	*ret = (struct image_place){ .vaddr = offset };
	if (image == IMAGE_NONE)
		return;

	struct entry *entry = &im->entries[image];
	struct image_symbol symbol;

	if (!open_image(im, entry))
		return;
	entry->last_used = ++im->clock;
	if (!image_offset_to_vaddr(entry->image, offset, &ret->vaddr))
		return;
	if (image_function_at(entry->image, ret->vaddr, &symbol)) {
		ret->function = symbol.name;
		ret->start = symbol.vaddr;
		ret->has_start = true;
		ret->is_last = ret->vaddr - symbol.vaddr + 1 == symbol.size;
	} else {
		ret->has_start = image_function_start(entry->image, ret->vaddr, &ret->start);
	}
	if (image_is_damaged(entry->image)) {
		*ret = (struct image_place){ .vaddr = ret->vaddr };
		give_up(im, entry);
		return;
	}
	keep_bounds(im, entry);
}

void images_refresh(struct images *im)
{
	for (size_t i = 0; i < im->n; i++)
		if (im->entries[i].last_used && images_is_stale(&im->entries[i]))
			give_up(im, &im->entries[i]);
}

uint64_t images_version(const struct images *im)
{
	return im->version;
}

size_t images_calls(struct images *im, uint32_t image, uint64_t vaddr, struct image_call *to,
		    size_t most)
{
	if (image == IMAGE_NONE || !im->entries[image].image)
		return 0;
	return image_calls_at(im->entries[image].image, vaddr, to, most);
}
