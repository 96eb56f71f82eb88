#include "tables/table_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/image.h"
#include "unwind/compact.h"

#define PAGE_LAST 0xfffU
#define MAX_RANGES 64

/* Where a mapping of the file, at a given offset, has its addresses. */
struct anchor {
	uint64_t offset;
	uint64_t bias; /* of a mapping at address 0 */
};

/* Part of a table, in the memory that the programs see. */
struct part {
	uint32_t place;
	size_t bytes;
};

enum { PAGES, ENTRIES, RULES, PARTS };

struct entry {
	bool is_vdso;
	struct file_state file;
	uint32_t older; /* the next entry of the same hash, or NONE */
	uint32_t place; /* of its struct unwind_image, for good; 0: none yet */
	struct part parts[PARTS];
	size_t n_rows;
	enum unwind_how how;
	bool is_refused;  /* there was no room, in: */
	uint32_t refused; /* turn */
	char *path;       /* as the process saw it that had it first */
	struct anchor *anchors;
	size_t n_anchors, anchors_capacity;
};

#define NONE UINT32_MAX

struct table_set {
	struct unwind_memory *memory;
	struct object *object;
	struct ahead *ahead; /* NULL: nothing was made ahead */
	struct entry *entries;
	size_t n, capacity;
	struct u64_map newest;     /* by hash of device and inode */
	uint32_t images, n_images; /* the block for the next images, and how many are in it */
	size_t n_rows, n_given_up;
	uint64_t cost;   /* ns of CPU time: of reading files */
	uint64_t turned; /* when the turn changed last, ns of CLOCK_MONOTONIC */
	bool was_full_told, was_shortage_told;
};

/* So long a turn lasts, at least. */
#define TURN_NS 1000000000ULL
/* What was looked into in this turn or the one before is in use. */
#define TURNS_IN_USE 2U

struct table_set *table_set_new(struct unwind_memory *memory, struct object *object)
{
	struct table_set *t = xcalloc(1, sizeof(*t));

	t->memory = memory;
	t->object = object;
	object_state(object)->table_turn = TURNS_IN_USE;
	return t;
}

void table_set_take_from(struct table_set *t, struct ahead *ahead)
{
	t->ahead = ahead;
}

void table_set_free(struct table_set *t)
{
	if (!t)
		return;
	ahead_free(t->ahead);
	for (size_t i = 0; i < t->n; i++)
		free(t->entries[i].anchors);
	for (size_t i = 0; i < t->n; i++)
		free(t->entries[i].path);
	free(t->entries);
	u64_map_fini(&t->newest);
	free(t);
}

/* Of what is open at @fd; the vdso is nobody's file. */
static uint32_t find_entry(const struct table_set *t, uint64_t hash, const struct entry *wanted)
{
	const uint32_t *newest = u64_map_get(&t->newest, hash);
	uint32_t i = newest ? *newest : NONE;

	for (; i != NONE; i = t->entries[i].older) {
		const struct entry *e = &t->entries[i];

		if (e->is_vdso == wanted->is_vdso && file_state_is_equal(&e->file, &wanted->file))
			break;
	}
	return i;
}

void table_set_turn(struct table_set *t, uint64_t now)
{
	if (now - t->turned < TURN_NS)
		return;
	t->turned = now;
	(void)__atomic_fetch_add(&object_state(t->object)->table_turn, 1, __ATOMIC_RELAXED);
}

static uint32_t *image_number(const struct table_set *t, const struct entry *entry, size_t member)
{
	return unwind_memory_number(t->memory, entry->place + (uint32_t)member);
}

/* Since when its image has not been looked into, in turns. */
static uint32_t turns_unused(const struct table_set *t, const struct entry *entry)
{
	const uint32_t *turn = image_number(t, entry, offsetof(struct unwind_image, turn));

	return object_state(t->object)->table_turn - __atomic_load_n(turn, __ATOMIC_RELAXED);
}

static void drop_parts(struct table_set *t, struct entry *entry)
{
	for (int i = 0; i < PARTS; i++)
		unwind_memory_drop(t->memory, entry->parts[i].place, entry->parts[i].bytes);
	memset(entry->parts, 0, sizeof(entry->parts));
}

bool table_set_make_room(struct table_set *t)
{
	struct entry *oldest = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct entry *entry = &t->entries[i];

		if (entry->how == UNWIND_BY_TABLE && turns_unused(t, entry) >= TURNS_IN_USE &&
		    (!oldest || turns_unused(t, entry) > turns_unused(t, oldest)))
			oldest = entry;
	}
	if (!oldest)
		return false;
	__atomic_store_n(image_number(t, oldest, offsetof(struct unwind_image, n_pages)), 0,
			 __ATOMIC_RELEASE);
	drop_parts(t, oldest);
	oldest->how = UNWIND_NOT_YET;
	t->n_rows -= oldest->n_rows;
	if (!t->n_given_up++)
		log_warn("tables of files that were not used lately make room for others: the "
			 "memory for unwind tables is used up (see --unwind-memory)");
	return true;
}

static int put(struct table_set *t, bool may_give_up, const void *data, size_t bytes,
	       struct part *ret, struct error *e)
{
	int err;

	do
		err = unwind_memory_put(t->memory, data, bytes, &ret->place, e);
	while (err == -E2BIG && may_give_up && table_set_make_room(t));
	ret->bytes = err ? 0 : bytes;
	return err;
}

static int put_parts(struct table_set *t, bool may_give_up, const struct unwind_table *table,
		     struct entry *entry, struct error *e)
{
	const struct {
		const void *data;
		size_t bytes;
	} parts[PARTS] = {
		[PAGES] = { table->pages, (table->n_pages + 1UL) * sizeof(*table->pages) },
		[ENTRIES] = { table->entries, table->n_entries * sizeof(*table->entries) },
		[RULES] = { table->rules, table->n_rules * sizeof(*table->rules) },
	};
	int err = 0;

	for (int i = 0; i < PARTS && !err; i++)
		err = put(t, may_give_up, parts[i].data, parts[i].bytes, &entry->parts[i], e);
	return err;
}

/*
 * A place for an image. They stay for good, and so lie together: scattered among tables that come
 * and go they would leave no room for large ones.
 */
#define BLOCK_IMAGES 128U

static int take_image_place(struct table_set *t, uint32_t *ret, struct error *e)
{
	static const struct unwind_image none[BLOCK_IMAGES];
	int err = 0;

	if (t->n_images % BLOCK_IMAGES == 0)
		err = unwind_memory_put(t->memory, none, sizeof(none), &t->images, e);
	if (!err)
		*ret = t->images + t->n_images++ % BLOCK_IMAGES * (uint32_t)sizeof(*none);
	return err;
}

/* Its image stays where it is, since processes' mappings say so; no program reads the old one. */
static int put_image(struct table_set *t, const struct unwind_table *table, bool is_used,
		     struct entry *entry, struct error *e)
{
	const uint32_t turn = object_state(t->object)->table_turn;
	const struct unwind_image image = {
		.base = table->base,
		.n_rules = table->n_rules,
		.pages = entry->parts[PAGES].place,
		.entries = entry->parts[ENTRIES].place,
		.rules = entry->parts[RULES].place,
		.turn = is_used ? turn : turn - TURNS_IN_USE,
	};
	int err = entry->place ? object_wait_for_programs(t->object, e)
			       : take_image_place(t, &entry->place, e);

	if (!err)
		unwind_memory_write(t->memory, entry->place, &image, sizeof(image));
	if (!err)
		__atomic_store_n(image_number(t, entry, offsetof(struct unwind_image, n_pages)),
				 table->n_pages, __ATOMIC_RELEASE);
	return err;
}

static int put_table(struct table_set *t, bool may_give_up, const struct unwind_table *table,
		     struct entry *entry, struct error *e)
{
	int err = put_parts(t, may_give_up, table, entry, e);

	if (!err)
		err = put_image(t, table, may_give_up, entry, e);
	if (err)
		drop_parts(t, entry);
	return err;
}

static void tell_refused(struct table_set *t, const char *name, int err, const struct error *e)
{
	if (err == -E2BIG && !t->was_full_told)
		log_warn("%s has no unwind table, and others: %s (see --unwind-memory)", name,
			 e->text);
	t->was_full_told = t->was_full_told || err == -E2BIG;
	log_debug("%s has no unwind table: %s", name, e->text);
}

static int read_table(struct table_set *t, struct image *im, const struct entry *entry,
		      struct unwind_table *ret, struct error *e)
{
	if (t->ahead && !entry->is_vdso && ahead_take(t->ahead, &entry->file, ret))
		return 0;

	int err = unwind_table_make(im, MAX_TABLE_BYTES, ret, e);

	if (err || !image_is_damaged(im))
		return err;
	unwind_table_fini(ret);
	return error_set(e, -ESTALE, "it was cut short meanwhile");
}

/* Make @entry's table from @im. What is not used yet takes no room from others. */
static void make_table(struct table_set *t, struct image *im, bool is_used, struct entry *entry,
		       const char *name)
{
	struct unwind_table table;
	struct error e;
	int err = read_table(t, im, entry, &table, &e);

	entry->how = err == -ENOENT ? UNWIND_BY_FRAME_POINTERS : UNWIND_NOT_AT_ALL;
	if (!err) {
		err = put_table(t, is_used, &table, entry, &e);
		entry->n_rows = table.n_entries;
		unwind_table_fini(&table);
		if (err == -E2BIG && !is_used) {
			entry->how = UNWIND_NOT_YET;
			return;
		}
		entry->how = err ? UNWIND_NOT_AT_ALL : UNWIND_BY_TABLE;
		entry->is_refused = err == -E2BIG;
		entry->refused = object_state(t->object)->table_turn;
		t->n_rows += err ? 0 : entry->n_rows;
	}
	if (err)
		tell_refused(t, name, err, &e);
}

/*
 * Is the segment at @offset of the file, of @bytes, what @m maps? A mapping begins with its
 * segment's first page, of which the segment may have any part: what is before and behind may be of
 * others. Part of a segment is mapped by itself where its protection was changed.
 */
static bool is_mapped_by(const struct mapping *m, uint64_t offset, uint64_t bytes, bool is_whole)
{
	return is_whole ? (offset ^ m->offset) <= PAGE_LAST
			: m->offset >= offset && m->offset - offset < bytes;
}

static bool find_anchor(const struct image *im, const struct mapping *m, struct anchor *ret)
{
	struct code_range ranges[MAX_RANGES];
	const size_t n = image_code_ranges(im, ranges, ARRAY_SIZE(ranges));
	uint64_t offset;

	for (size_t i = 0; i < 2 * n; i++) {
		const struct code_range *range = &ranges[i % n];

		if (!image_vaddr_to_offset(im, range->start, &offset) ||
		    !is_mapped_by(m, offset, range->end - range->start, i < n))
			continue;
		*ret = (struct anchor){ m->offset, offset - m->offset - range->start };
		return true;
	}
	return false;
}

/* Ours serves for all: 32-bit programs are not walked by tables. */
static int open_vdso(struct image **ret, struct error *e)
{
	size_t bytes = 0;
	const void *vdso = own_vdso(&bytes);

	if (!vdso)
		return error_set(e, -ENOENT, "this process has no vdso");
	return image_open_memory(vdso, bytes, "[vdso]", ret, e);
}

static const struct anchor *known_anchor(const struct entry *entry, uint64_t offset)
{
	for (size_t i = 0; i < entry->n_anchors; i++)
		if (entry->anchors[i].offset == offset)
			return &entry->anchors[i];
	return NULL;
}

/* Whoever maps @entry's file as @m does is walked by it from now on. */
static void tell(const struct table_set *t, const struct mapping *m, const struct entry *entry,
		 uint64_t bias)
{
	const struct unwind_file_key key = {
		.inode = entry->file.inode,
		.offset = m->offset,
		.size = entry->file.size,
		.changed = (uint64_t)entry->file.changed.tv_sec,
		.changed_ns = (uint32_t)entry->file.changed.tv_nsec,
		.dev = FILE_DEV(major(entry->file.dev), minor(entry->file.dev)),
	};
	const struct unwind_file file = { .bias = bias, .image = entry->place, .how = entry->how };
	struct error e;

	if (entry->file.inode && object_set_file(t->object, &key, &file, &e))
		log_debug("%s: %s", m->path, e.text);
}

/* Read what is not known of @entry yet. */
static void read_file(struct table_set *t, int fd, const struct mapping *m, bool is_used,
		      struct entry *entry)
{
	struct image *im = NULL;
	struct anchor anchor;
	struct error e;
	const char *slash = strrchr(m->path, '/');
	const char *name = slash ? slash + 1 : m->path; /* as in what else is said of it */
	int err = entry->is_vdso ? open_vdso(&im, &e) : image_open_fd(fd, name, &im, &e);

	if (err) {
		log_debug("%s has no unwind table: %s", m->path, e.text);
		entry->how = UNWIND_MADE_CODE; /* into a memfd, say */
		tell(t, m, entry, 0);
		return;
	}
	if (entry->how != UNWIND_BY_TABLE)
		make_table(t, im, is_used, entry, m->path);
	if (find_anchor(im, m, &anchor) && entry->how != UNWIND_NOT_YET) {
		if (!known_anchor(entry, m->offset))
			array_push(entry->anchors, entry->n_anchors, entry->anchors_capacity,
				   anchor);
		tell(t, m, entry, anchor.bias);
	}
	image_close(im);
}

static void complete(struct table_set *t, int fd, const struct mapping *m, bool is_used,
		     struct entry *entry)
{
	const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	read_file(t, fd, m, is_used, entry);
	t->cost += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

uint64_t table_set_cost(const struct table_set *t)
{
	return t->cost;
}

/* There may be room for it now. */
static bool may_try_again(const struct table_set *t, const struct entry *entry)
{
	return entry->how == UNWIND_NOT_YET ||
	       (entry->how == UNWIND_NOT_AT_ALL && entry->is_refused &&
		object_state(t->object)->table_turn - entry->refused > TURNS_IN_USE);
}

static struct entry *get_entry(struct table_set *t, const struct entry *wanted, const char *path)
{
	uint64_t hash = hash_mix(hash_mix(wanted->file.dev) ^ wanted->file.inode);
	uint32_t i = find_entry(t, hash, wanted);

	if (i == NONE) {
		const uint32_t *newest = u64_map_get(&t->newest, hash);

		i = (uint32_t)t->n;
		array_push(t->entries, t->n, t->capacity, *wanted);
		t->entries[i].older = newest ? *newest : NONE;
		t->entries[i].path = xstrdup(path);
		t->entries[i].how = UNWIND_NOT_YET;
		*u64_map_put(&t->newest, hash, i, NULL) = i;
	}
	return &t->entries[i];
}

/* A run has descriptors left for this (tool/limits.h), but the system may have none. */
static void tell_shortage(struct table_set *t, int err, const struct error *e)
{
	if ((err != -EMFILE && err != -ENFILE) || t->was_shortage_told)
		return;
	t->was_shortage_told = true;
	log_warn("user stacks may be cut for lack of an unwind table: %s", e->text);
}

/* A process that has gone had its file most likely where there is one for us, too. */
static int open_file(struct table_set *t, uint32_t pid, const struct mapping *m, int *fd)
{
	cleanup_close int root = -1;
	struct error e;
	int err = mapping_open(pid, m, fd, &e);

	if (err)
		tell_shortage(t, err, &e);
	if (!err)
		return 0;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -ENOENT : mapping_open_in(root, m, fd, &e);
}

static int identify(struct table_set *t, uint32_t pid, const struct mapping *m, int *fd,
		    struct entry *ret)
{
	struct stat st;

	*ret = (struct entry){ .is_vdso = !m->inode };
	if (!m->inode)
		return 0;
	if (open_file(t, pid, m, fd) || fstat(*fd, &st) < 0)
		return -ENOENT;
	ret->file = (struct file_state){ m->dev, m->inode, (uint64_t)st.st_size, st.st_mtim };
	return 0;
}

/*
 * What has no file. Into "[uprobes]" those functions return whose return somebody else probes; to
 * where they would have, only the kernel knows.
 */
static enum unwind_how how_without_file(const struct mapping *m)
{
	return strcmp(m->path, "[uprobes]") == 0 ? UNWIND_PROBED : UNWIND_MADE_CODE;
}

void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m,
		    enum table_wish wish, struct unwind_mapping *ret)
{
	cleanup_close int fd = -1;
	const struct anchor *anchor;
	struct entry wanted, *entry;

	ret->how = how_without_file(m);
	if (!m->inode && strcmp(m->path, "[vdso]") != 0)
		return;
	ret->how = wish == TABLE_AS_IS ? UNWIND_NOT_YET : UNWIND_NOT_AT_ALL;
	if (identify(t, pid, m, &fd, &wanted))
		return; /* it may have tables, which cannot be had */
	entry = get_entry(t, &wanted, m->path);
	anchor = known_anchor(entry, m->offset);
	if (wish != TABLE_AS_IS &&
	    (may_try_again(t, entry) || (!anchor && entry->how == UNWIND_BY_TABLE)))
		complete(t, fd, m, wish == TABLE_IN_USE, entry);
	anchor = known_anchor(entry, m->offset);
	ret->how = anchor || entry->how != UNWIND_BY_TABLE ? entry->how : UNWIND_NOT_YET;
	if (wish == TABLE_AS_IS && may_try_again(t, entry))
		ret->how = UNWIND_NOT_YET;
	if (wish != TABLE_AS_IS && !anchor && entry->how == UNWIND_BY_TABLE)
		ret->how = UNWIND_BY_FRAME_POINTERS; /* no code of the file's own */
	ret->image = entry->place;
	ret->bias = anchor ? m->start + anchor->bias : 0;
}

void table_set_again(struct table_set *t, uint64_t inode, uint32_t dev)
{
	struct unwind_mapping unused;

	for (size_t i = 0; i < t->n; i++) {
		const struct entry *entry = &t->entries[i];
		const struct mapping m = { .dev = entry->file.dev,
					   .inode = entry->file.inode,
					   .path = entry->path,
					   .offset = entry->n_anchors ? entry->anchors[0].offset
								      : 0 };

		if (entry->file.inode == inode && may_try_again(t, entry) &&
		    FILE_DEV(major(entry->file.dev), minor(entry->file.dev)) == dev)
			table_set_find(t, 0, &m, TABLE_IN_USE, &unused);
	}
}

void table_set_describe(const struct table_set *t)
{
	size_t n_without = 0;

	for (size_t i = 0; i < t->n; i++)
		n_without += t->entries[i].how == UNWIND_NOT_AT_ALL;
	log_debug("unwind tables: %zu images (%zu without, %zu given up), %zu rows, %llu of %llu "
		  "bytes",
		  t->n, n_without, t->n_given_up, t->n_rows,
		  (unsigned long long)unwind_memory_used(t->memory),
		  (unsigned long long)unwind_memory_held(t->memory));
}
