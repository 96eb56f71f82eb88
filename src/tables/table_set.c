#include "tables/table_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define PAGE_LAST 0xfffU

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
	bool is_refused;           /* there was no room, in: */
	uint32_t refused;          /* turn */
	char *path;                /* as the process saw it that had it first */
	struct range_fact *ranges; /* its code, as it was read last */
	size_t n_ranges;
	struct anchor *anchors;
	size_t n_anchors, anchors_capacity;
};

#define NONE UINT32_MAX

struct table_set {
	struct unwind_memory *memory;
	struct object *object;
	struct remote *remote;
	struct ahead *ahead; /* NULL: nothing was made ahead */
	struct entry *entries;
	size_t n, capacity;
	struct u64_map newest;     /* by hash of device and inode */
	uint32_t images, n_images; /* the block for the next images, and how many are in it */
	size_t n_rows, n_given_up;
	uint64_t cost;   /* ns of CPU time: of taking tables */
	uint64_t turned; /* when the turn changed last, ns of CLOCK_MONOTONIC */
	bool was_full_told;
};

/* So long a turn lasts, at least. */
#define TURN_NS 1000000000ULL
/* What was looked into in this turn or the one before is in use. */
#define TURNS_IN_USE 2U

struct table_set *table_set_new(struct unwind_memory *memory, struct object *object,
				struct remote *remote)
{
	struct table_set *t = xcalloc(1, sizeof(*t));

	t->memory = memory;
	t->object = object;
	t->remote = remote;
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
	for (size_t i = 0; i < t->n; i++) {
		free(t->entries[i].anchors);
		free(t->entries[i].ranges);
		free(t->entries[i].path);
	}
	free(t->entries);
	u64_map_fini(&t->newest);
	free(t);
}

/* The vdso is nobody's file. */
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

static int put_parts(struct table_set *t, bool may_give_up, const struct table_view *table,
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
static int put_image(struct table_set *t, const struct table_view *table, bool is_used,
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

static int put_table(struct table_set *t, bool may_give_up, const struct table_view *table,
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

/* What its reader tells: a table in @ret, or ranges alone, or nothing. */
static int read_table(struct table_set *t, uint32_t pid, const struct mapping *m,
		      const struct entry *entry, struct remote_table *ret, struct error *e)
{
	if (t->ahead && !entry->is_vdso && ahead_take(t->ahead, &entry->file, ret))
		return 0;
	return entry->is_vdso ? remote_table_of_vdso(t->remote, ret, e)
			      : remote_table_make(t->remote, pid, m, &entry->file, ret, e);
}

/* What is not used yet takes no room from others. */
static int keep_table(struct table_set *t, const struct table_view *table, bool is_used,
		      struct entry *entry, struct error *e)
{
	const int err = put_table(t, is_used, table, entry, e);

	entry->n_rows = table->n_entries;
	if (err == -E2BIG && !is_used) {
		entry->how = UNWIND_NOT_YET;
		return 0;
	}
	entry->how = err ? UNWIND_NOT_AT_ALL : UNWIND_BY_TABLE;
	entry->is_refused = err == -E2BIG;
	entry->refused = object_state(t->object)->table_turn;
	t->n_rows += err ? 0 : entry->n_rows;
	return err;
}

static enum unwind_how how_after(int err)
{
	switch (err) {
	case -ENOENT:
		return UNWIND_BY_FRAME_POINTERS;
	case -ENOEXEC:
		return UNWIND_MADE_CODE; /* into a memfd, say */
	case -EAGAIN:
	case -ENOTCONN:
	case -ECANCELED:
		return UNWIND_NOT_YET;
	default:
		return UNWIND_NOT_AT_ALL;
	}
}

static void keep_ranges(const struct table_view *table, struct entry *entry)
{
	free(entry->ranges);
	entry->n_ranges = table->n_ranges;
	entry->ranges = xcalloc(table->n_ranges, sizeof(*table->ranges));
	if (table->n_ranges)
		memcpy(entry->ranges, table->ranges, table->n_ranges * sizeof(*table->ranges));
}

/* Make the table of @entry, which process @pid maps as @m. */
static void make_table(struct table_set *t, uint32_t pid, const struct mapping *m, bool is_used,
		       struct entry *entry)
{
	struct remote_table table;
	struct error e;
	int err = read_table(t, pid, m, entry, &table, &e);

	entry->how = how_after(err);
	keep_ranges(&table.view, entry);
	if (!err)
		err = keep_table(t, &table.view, is_used, entry, &e);
	remote_table_fini(&table);
	if (err)
		tell_refused(t, m->path, err, &e);
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

static struct anchor anchor_of(const struct range_fact *range, uint64_t offset)
{
	return (struct anchor){ offset, range->offset - offset - range->vaddr };
}

static bool find_anchor(const struct entry *entry, const struct mapping *m, struct anchor *ret)
{
	for (size_t i = 0; i < 2 * entry->n_ranges; i++) {
		const struct range_fact *range = &entry->ranges[i % entry->n_ranges];

		if (!is_mapped_by(m, range->offset, range->n_bytes, i < entry->n_ranges))
			continue;
		*ret = anchor_of(range, m->offset);
		return true;
	}
	return false;
}

static const struct anchor *known_anchor(const struct entry *entry, uint64_t offset)
{
	for (size_t i = 0; i < entry->n_anchors; i++)
		if (entry->anchors[i].offset == offset)
			return &entry->anchors[i];
	return NULL;
}

/* Whoever maps @entry's file from @anchor's offset on is walked by it from now on. */
static void tell(const struct table_set *t, const struct entry *entry, const struct anchor *anchor)
{
	const struct unwind_file_key key = {
		.inode = entry->file.inode,
		.offset = anchor->offset,
		.size = entry->file.fact.size,
		.changed = entry->file.fact.changed,
		.changed_ns = entry->file.fact.changed_ns,
		.dev = FILE_DEV(major(entry->file.dev), minor(entry->file.dev)),
	};
	const struct unwind_file file = { anchor->bias, entry->place, entry->how };
	struct error e;

	if (entry->file.inode && object_set_file(t->object, &key, &file, &e))
		log_debug("%s: %s", entry->path, e.text);
}

static void keep_anchor(const struct table_set *t, struct entry *entry, struct anchor anchor)
{
	const struct anchor *known = known_anchor(entry, anchor.offset);

	if (!known)
		array_push(entry->anchors, entry->n_anchors, entry->anchors_capacity, anchor);
	tell(t, entry, known ? known : &anchor);
}

/* Its segments as loaders map them. Where there are more than these, each is told when it is seen.
 */
#define SEGMENTS_AT_ONCE 8U

static void keep_segments(const struct table_set *t, struct entry *entry)
{
	for (size_t i = 0; i < entry->n_ranges && i < SEGMENTS_AT_ONCE; i++) {
		const struct range_fact *range = &entry->ranges[i];

		keep_anchor(t, entry, anchor_of(range, range->offset & ~(uint64_t)PAGE_LAST));
	}
}

/* Have read what is not known of @entry yet, and tell what is known of @m then. */
static void complete(struct table_set *t, uint32_t pid, const struct mapping *m, bool is_used,
		     struct entry *entry)
{
	const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct anchor anchor = {};

	if (entry->how != UNWIND_BY_TABLE)
		make_table(t, pid, m, is_used, entry);
	t->cost += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (entry->how == UNWIND_NOT_YET)
		return;
	if (!entry->n_anchors)
		keep_segments(t, entry);
	if (find_anchor(entry, m, &anchor))
		keep_anchor(t, entry, anchor);
	else if (entry->how == UNWIND_MADE_CODE)
		tell(t, entry, &(struct anchor){ .offset = m->offset });
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

/*
 * What has no file. Into "[uprobes]" those functions return whose return somebody else probes; to
 * where they would have, only the kernel knows.
 */
static enum unwind_how how_without_file(const struct mapping *m)
{
	return strcmp(m->path, "[uprobes]") == 0 ? UNWIND_PROBED : UNWIND_MADE_CODE;
}

/* The file that @m maps, as it is told or as helpers find it. False: it cannot be had. */
static bool identify(const struct table_set *t, uint32_t pid, const struct mapping *m,
		     const struct file_state *told, struct entry *ret)
{
	*ret = (struct entry){ .is_vdso = !m->inode };
	if (!m->inode)
		return true;
	if (!told)
		return remote_state(remote_files_of(t->remote), pid, m, &ret->file);
	ret->file = *told;
	return told->fact.is_there;
}

void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m,
		    const struct file_state *told, enum table_wish wish, struct unwind_mapping *ret)
{
	const struct anchor *anchor;
	struct entry wanted, *entry;

	ret->how = how_without_file(m);
	if (!m->inode && strcmp(m->path, "[vdso]") != 0)
		return;
	ret->how = wish == TABLE_AS_IS ? UNWIND_NOT_YET : UNWIND_NOT_AT_ALL;
	if (!identify(t, pid, m, told, &wanted))
		return; /* it may have tables, which cannot be had */
	entry = get_entry(t, &wanted, m->path);
	anchor = known_anchor(entry, m->offset);
	if (wish != TABLE_AS_IS &&
	    (may_try_again(t, entry) || (!anchor && entry->how == UNWIND_BY_TABLE)))
		complete(t, pid, m, wish == TABLE_IN_USE, entry);
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
			table_set_find(t, 0, &m, NULL, TABLE_IN_USE, &unused);
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
