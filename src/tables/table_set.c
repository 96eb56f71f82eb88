// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/table_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"

/*
 * A file that is written over becomes another file, so files come without end. Above MANY files,
 * the set forgets those whose table is not in use. It does so between two wishes. One wish cannot
 * add more than MOST.
 */
#define MANY_FILES ((size_t)MOST_FILES / 4 * 3)

struct entry {
	uint64_t dev, inode;   /* as lists of mappings show them; 0: the vdso */
	struct file_fact file; /* a write makes it another file */
	uint32_t older;        /* the next entry with the same hash, or NONE */
	uint32_t place;        /* of its struct unwind_image, for good; 0: none yet */
	uint32_t table;        /* place of the table: rules, pages, entries */
	size_t table_bytes;
	size_t n_rows;
	enum unwind_how how;
	struct range_fact *ranges; /* the ranges of code, from the last table */
	size_t n_ranges;
};

#define NONE UINT32_MAX

struct table_set {
	struct unwind_memory *memory;
	struct object *object;
	struct files *files;
	struct entry *entries;
	size_t n, capacity;
	struct u64_map newest;     /* hash of device and inode -> newest entry */
	uint32_t images, n_images; /* place of the newest block of images; number of all images */
	size_t n_rows;
	uint64_t turned;    /* when the turn changed last, ns of CLOCK_MONOTONIC */
	uint32_t made_room; /* the turn of the last table_set_make_room() */
	uint32_t crowded;   /* the last turn when very many files were in use */
	bool has_warned_full;
};

/* The least time of a turn. */
#define TURN_NS 1000000000ULL
/* A table that BPF used in this turn or the one before is in use. */
#define TURNS_IN_USE 2U

struct table_set *table_set_new(struct unwind_memory *memory, struct object *object,
				struct files *files)
{
	struct table_set *t = xcalloc(1, sizeof(*t));

	t->memory = memory;
	t->object = object;
	t->files = files;
	object_state(object)->table_turn = TURNS_IN_USE + 1;
	return t;
}

void table_set_free(struct table_set *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->entries[i].ranges);
	free(t->entries);
	u64_map_fini(&t->newest);
	free(t);
}

/* --- the segments of a file, and its entry in the map 'files' (bpf/tables.h) --- */

#define PAGE_LAST 0xfffU

/*
 * The bias of a mapping of @offset at address 0. False: it maps none of the file's code.
 *
 * Segments that begin in its first page come first: others may have parts of that page, too. But
 * mprotect(2) may have split a mapping, so any part of a segment serves.
 */
static bool find_bias(const struct entry *entry, uint64_t offset, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < 2 * entry->n_ranges; i++) {
		const struct range_fact *range = &entry->ranges[i % entry->n_ranges];

		if (i < entry->n_ranges
			    ? (range->offset ^ offset) <= PAGE_LAST
			    : offset >= range->offset && offset - range->offset < range->n_bytes) {
			*ret = range->offset - offset - range->vaddr;
			return true;
		}
	}
	return false;
}

/*
 * Is the file's bias the same in all its code? No file of a Debian 12 has code of two (of 2,677).
 * Code of others is walked by lists of mappings alone.
 */
static bool has_one_bias(const struct entry *entry)
{
	const struct range_fact *first = entry->ranges;

	for (size_t i = 1; i < entry->n_ranges; i++)
		if (first[i].offset - first[i].vaddr != first->offset - first->vaddr)
			return false;
	return true;
}

/* BPF walks code of the file as @entry says; or it does not any more. */
static void publish_file(const struct table_set *t, const struct entry *entry, bool is_there)
{
	const struct file_fact *file = &entry->file;
	const struct range_fact *first = entry->ranges;
	const struct unwind_file_key key = {
		.inode = entry->inode,
		.size = file->size,
		.changed = file->changed,
		.changed_ns = file->changed_ns,
		.dev = FILE_DEV(major(entry->dev), minor(entry->dev)),
	};
	const struct unwind_file to = { .bias = first ? first->offset - first->vaddr : 0,
					.image = entry->place,
					.how = entry->how };
	struct error e;

	if (!entry->inode || (is_there && !has_one_bias(entry)))
		return;
	if (object_set_file(t->object, &key, is_there ? &to : NULL, &e))
		log_debug("%s", e.text);
}

/* --- tables --- */

static struct unwind_image *image_of(const struct table_set *t, const struct entry *entry)
{
	return unwind_memory_at(t->memory, entry->place);
}

static uint32_t turn_of_tables(const struct table_set *t)
{
	return object_state(t->object)->table_turn;
}

static bool is_in_use(const struct table_set *t, const struct entry *entry)
{
	return entry->how == UNWIND_BY_TABLE &&
	       turn_of_tables(t) - __atomic_load_n(&image_of(t, entry)->turn, __ATOMIC_RELAXED) <
		       TURNS_IN_USE;
}

static void drop_table(struct table_set *t, struct entry *entry)
{
	unwind_memory_drop(t->memory, entry->table, entry->table_bytes);
	entry->table_bytes = 0;
}

static void evict_table(struct table_set *t, struct entry *entry)
{
	__atomic_store_n(&image_of(t, entry)->n_pages, 0, __ATOMIC_RELEASE);
	drop_table(t, entry);
	entry->how = UNWIND_NOT_YET;
	t->n_rows -= entry->n_rows;
}

/* More often would gain little, and the processes that are hit would be read all the time. */
bool table_set_make_room(struct table_set *t, const char *why)
{
	if (turn_of_tables(t) - t->made_room <= TURNS_IN_USE)
		return false;
	t->made_room = turn_of_tables(t);
	log_warn_once("%s: dropping what is not in use (see --unwind-memory)", why);
	for (size_t i = 0; i < t->n; i++) {
		if (t->entries[i].how != UNWIND_BY_TABLE || is_in_use(t, &t->entries[i]))
			continue;
		evict_table(t, &t->entries[i]);
	}
	return true;
}

static int put_table(struct table_set *t, bool is_used, const struct file_table *table,
		     struct entry *entry, struct error *e)
{
	const size_t rules = table->fact.n_rules * sizeof(*table->rules);
	const size_t pages = (table->fact.n_pages + 1UL) * sizeof(*table->pages);
	const size_t entries = table->fact.n_entries * sizeof(*table->entries);
	const size_t bytes = rules + pages + entries;
	const bool may_fit = is_used && bytes <= unwind_memory_most(t->memory);
	uint8_t *to;
	int err;

	do
		err = unwind_memory_allocate(t->memory, bytes, &entry->table, e);
	while (err == -E2BIG && may_fit && table_set_make_room(t, e->text));
	if (err)
		return err;
	entry->table_bytes = bytes;
	to = unwind_memory_at(t->memory, entry->table);
	memcpy(to, table->rules, rules);
	memcpy(to + rules, table->pages, pages);
	memcpy(to + rules + pages, table->entries, entries);
	return 0;
}

/*
 * An image keeps its place for good, because published lists may name it even after the file was
 * forgotten. A million of them take 32 MB. Images lie together in blocks: scattered among tables
 * that come and go, they would leave no room for large tables.
 */
#define BLOCK_IMAGES 128U

static int allocate_image(struct table_set *t, uint32_t *ret, struct error *e)
{
	const size_t bytes = BLOCK_IMAGES * sizeof(struct unwind_image);

	if (t->n_images % BLOCK_IMAGES == 0) {
		const int err = unwind_memory_allocate(t->memory, bytes, &t->images, e);

		if (err)
			return err;
		memset(unwind_memory_at(t->memory, t->images), 0, bytes);
	}
	*ret = t->images + t->n_images++ % BLOCK_IMAGES * (uint32_t)sizeof(struct unwind_image);
	return 0;
}

/*
 * Write the entry's image, whose place stays. Programs may still read the former one: wait for
 * them.
 */
static int put_image(struct table_set *t, const struct file_table *table, bool is_used,
		     struct entry *entry, struct error *e)
{
	const uint32_t turn = turn_of_tables(t);
	const uint32_t pages = entry->table + table->fact.n_rules * (uint32_t)sizeof(*table->rules);
	const struct unwind_image image = {
		.base = table->fact.base,
		.n_rules = table->fact.n_rules,
		.pages = pages,
		.entries = pages + (table->fact.n_pages + 1) * (uint32_t)sizeof(*table->pages),
		.rules = entry->table,
		.turn = is_used ? turn : turn - TURNS_IN_USE,
	};
	int err = entry->place ? object_wait_for_programs(t->object, e)
			       : allocate_image(t, &entry->place, e);

	if (err)
		return err;
	*image_of(t, entry) = image;
	__atomic_store_n(&image_of(t, entry)->n_pages, table->fact.n_pages, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Store @table. Others make room only if it is in use; else it waits until there is room. What is
 * in use and has no room gets none later: the user has had a warning.
 */
static int keep_table_in_set(struct table_set *t, const struct file_table *table, bool is_used,
			     struct entry *entry, struct error *e)
{
	int err = put_table(t, is_used, table, entry, e);

	if (!err)
		err = put_image(t, table, is_used, entry, e);
	if (err)
		drop_table(t, entry);
	if (err == -E2BIG && !is_used) {
		entry->how = UNWIND_NOT_YET;
		return 0;
	}
	entry->how = err ? UNWIND_NOT_AT_ALL : UNWIND_BY_TABLE;
	entry->n_rows = table->fact.n_entries;
	t->n_rows += err ? 0 : entry->n_rows;
	return err;
}

static enum unwind_how kind_after_error(int err)
{
	switch (err) {
	case -ENOENT:
		return UNWIND_BY_FRAME_POINTERS;
	case -ENOEXEC:
		return UNWIND_MADE_CODE; /* into a memfd, say */
	case -EAGAIN:
	case -ENOTCONN:
	case -ECANCELED:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return UNWIND_NOT_YET;
	default:
		return UNWIND_NOT_AT_ALL;
	}
}

/* Make the table of @entry, which process @pid maps as @m, and publish it. */
static void complete_entry(struct table_set *t, uint32_t pid, const struct mapping *m, bool is_used,
			   struct entry *entry)
{
	struct file_table table;
	struct error e;
	int err = files_table(t->files, pid, m, &entry->file, &table, &e);

	entry->how = kind_after_error(err);
	if (table.fact.n_ranges) {
		free(entry->ranges);
		entry->n_ranges = table.fact.n_ranges;
		entry->ranges = xcalloc(entry->n_ranges, sizeof(*entry->ranges));
		memcpy(entry->ranges, table.ranges, entry->n_ranges * sizeof(*entry->ranges));
	}
	if (!err)
		err = keep_table_in_set(t, &table, is_used, entry, &e);
	file_table_fini(&table);
	if (err == -E2BIG && !t->has_warned_full) {
		t->has_warned_full = true;
		log_warn("%s and others have no unwind table: %s (see --unwind-memory)", m->path,
			 e.text);
	}
	if (err)
		log_debug("%s has no unwind table: %s", m->path, e.text);
	if (entry->how != UNWIND_NOT_YET)
		publish_file(t, entry, true);
}

/* --- entries come and go --- */

static uint64_t hash_of_entry(const struct entry *entry)
{
	return hash_mix(hash_mix(entry->dev) ^ entry->inode);
}

static void link_table_entry(struct table_set *t, uint32_t i)
{
	const uint64_t hash = hash_of_entry(&t->entries[i]);
	const uint32_t *newest = u64_map_get(&t->newest, hash);

	t->entries[i].older = newest ? *newest : NONE;
	*u64_map_put(&t->newest, hash, i, NULL) = i;
}

/* The entry of the file, or the vdso, of @wanted; new if necessary. NULL: there are too many. */
static struct entry *want_entry(struct table_set *t, const struct entry *wanted)
{
	const uint32_t *newest = u64_map_get(&t->newest, hash_of_entry(wanted));

	for (uint32_t i = newest ? *newest : NONE; i != NONE; i = t->entries[i].older)
		if (t->entries[i].dev == wanted->dev && t->entries[i].inode == wanted->inode &&
		    file_fact_is_equal(&t->entries[i].file, &wanted->file))
			return &t->entries[i];
	if (t->n >= MOST_FILES) {
		log_warn_once("processes have mapped more than %u files at once: user stacks in "
			      "some of these are cut",
			      MOST_FILES);
		return NULL;
	}
	array_push(t->entries, t->n, t->capacity, *wanted);
	link_table_entry(t, (uint32_t)t->n - 1);
	return &t->entries[t->n - 1];
}

static bool are_many_entries(const struct table_set *t)
{
	return t->n >= MANY_FILES;
}

/*
 * The image stays, without pages. A walk through a list that names it reports a miss. Then user
 * space reads the process's mappings again, and adds the file again.
 *
 * The wait at the end is for programs that have looked up a key before we deleted it: the kernel
 * reuses its memory for the next new key.
 */
static void forget_unused(struct table_set *t)
{
	size_t n = 0;
	struct error e;

	u64_map_clear(&t->newest);
	for (size_t i = 0; i < t->n; i++) {
		struct entry *entry = &t->entries[i];

		if (is_in_use(t, entry)) {
			t->entries[n] = *entry;
			link_table_entry(t, (uint32_t)n++);
			continue;
		}
		publish_file(t, entry, false);
		if (entry->how == UNWIND_BY_TABLE)
			evict_table(t, entry);
		free(entry->ranges);
	}
	t->n = n;
	if (object_wait_for_programs(t->object, &e))
		log_debug("%s", e.text);
}

void table_set_turn(struct table_set *t, uint64_t now)
{
	if (are_many_entries(t) && t->crowded != turn_of_tables(t)) {
		forget_unused(t);
		if (are_many_entries(t))
			t->crowded = turn_of_tables(t);
	}
	if (now - t->turned < TURN_NS)
		return;
	t->turned = now;
	(void)__atomic_fetch_add(&object_state(t->object)->table_turn, 1, __ATOMIC_RELAXED);
}

/* --- finding --- */

void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m,
		    const struct file_fact *file, enum table_wish wish, struct unwind_mapping *ret)
{
	struct entry wanted = { .dev = m->dev, .inode = m->inode, .how = UNWIND_NOT_YET };
	struct entry *entry;

	/*
	 * A function whose return another tool probes returns into "[uprobes]". Only the kernel
	 * knows where it would have returned.
	 */
	ret->how = strcmp(m->path, "[uprobes]") == 0 ? UNWIND_PROBED : UNWIND_MADE_CODE;
	if (!m->inode && strcmp(m->path, "[vdso]") != 0)
		return;
	ret->how = wish == TABLE_AS_IS ? UNWIND_NOT_YET : UNWIND_NOT_AT_ALL;
	if (m->inode && file)
		wanted.file = *file;
	else if (m->inode)
		(void)files_fact(t->files, pid, m, &wanted.file);
	if (m->inode && !wanted.file.is_there)
		return; /* its table cannot be made, if it has one */
	entry = want_entry(t, &wanted);
	if (!entry)
		return;
	if (wish != TABLE_AS_IS && entry->how == UNWIND_NOT_YET)
		complete_entry(t, pid, m, wish == TABLE_IN_USE, entry);

	uint64_t bias;
	const bool is_code = find_bias(entry, m->offset, &bias);

	ret->how = entry->how;
	if (ret->how == UNWIND_BY_TABLE && !is_code)
		ret->how = UNWIND_BY_FRAME_POINTERS; /* @m maps none of the file's code */
	ret->image = entry->place;
	ret->bias = is_code ? m->start + bias : 0;
}

void table_set_describe(const struct table_set *t)
{
	log_debug("unwind tables: %zu images, %zu rows, %llu of %llu bytes", t->n, t->n_rows,
		  (unsigned long long)unwind_memory_used(t->memory),
		  (unsigned long long)unwind_memory_held(t->memory));
}
