// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the function of an address. The index has 20 bytes for each function, and no names.
 * Symbol tables are not tidy:
 *
 *	0x9f0a0 240 malloc, __libc_malloc, __GI___libc_malloc    aliases
 *	0x2a1c0   0 __restore_rt                                 no size
 *	0x9c840 300 __lll_lock_wait  0x9c860 4 a label in it     nested
 *	0x1f000   0 blend  0x1f040 0 blend.loop  (no type)       assembly
 *
 * and .dynsym and Go's table repeat much of .symtab.
 *
 * A missing size is the trap. Before the next symbol there may be functions that the table does
 * not have. So .eh_frame may end such a function, and a label without a type ends it, too. A label
 * names nothing, because it may be anything. But if .eh_frame begins a function at a label, the
 * label is that function: assembly with ".cfi_startproc" and without ".type".
 *
 * A file may have no .symtab, or one with some functions only ("strip -s -K main"). Then any number
 * of static functions may follow a function without a size. musl exports memset, written in
 * assembly, and clone follows it. In such a file, only an entry of .eh_frame that begins with the
 * function has its length. Without one, only the first byte certainly belongs to the function.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "elf/debug.h"
#include "elf/entry.h"
#include "elf/symbols.h"

#define NONE UINT32_MAX
/* The functions of .eh_frame that are tables of stubs, at most: .plt, .plt.got, .plt.sec. */
#define MOST_STUB_FRAMES 16
/* A reference: the table's number in the upper two bits, then LABEL, then the symbol's number. */
#define TABLE_SHIFT 30
#define LABEL (1U << 29)

_Static_assert(TABLE_MOST < LABEL && TABLE_N <= 4, "a reference holds every symbol");

/* [start, start + size); @symbol is a reference. */
struct range {
	uint64_t start;
	uint32_t size;
	uint32_t symbol;
};

/* The index of an image. */
struct symbol_index {
	struct tables tables;
	struct range *ranges; /* by ascending start; for equal starts by descending size */
	/* For each range, the nearest one before it that ends later, or NONE. */
	uint32_t *outer;
	size_t n;
	struct frames frames;
	struct frames all_frames; /* @frames, or of @own_rows without .eh_frame_hdr */
	void *own_rows;
	struct entry_points entry;
	bool has_all; /* the tables seem to have every function */
};

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	free(index->ranges);
	free(index->outer);
	free(index->own_rows);
	free(index);
}

size_t symbol_index_bytes(const struct symbol_index *index)
{
	if (!index)
		return 0;
	return sizeof(*index) + index->n * (sizeof(*index->ranges) + sizeof(*index->outer)) +
	       (index->own_rows ? index->all_frames.n * FRAMES_ROW_BYTES : 0);
}

/* The function of @r. This cannot fail, because collect_table() has read it before. */
static struct function function_of(const struct symbol_index *index, const struct range *r)
{
	struct function f = { .symbol.name = "" };

	(void)table_function(&index->tables.all[r->symbol >> TABLE_SHIFT], r->symbol & TABLE_MOST,
			     &f);
	return f;
}

static bool is_label_range(const struct range *r)
{
	return r->symbol & LABEL;
}

/* People write "_exit" rather than "_Exit". */
static size_t count_capitals(const char *name, size_t n)
{
	size_t capitals = 0;

	for (size_t i = 0; i < n; i++)
		capitals += name[i] >= 'A' && name[i] <= 'Z';
	return capitals;
}

/* Would people rather write @a? Ignores versions. */
static bool is_better(const struct function *a, const struct function *b)
{
	const char *name_a = a->symbol.name, *name_b = b->symbol.name;
	size_t underscores_a = strspn(name_a, "_");
	size_t underscores_b = strspn(name_b, "_");
	size_t n_a = strcspn(name_a, "@");
	size_t n_b = strcspn(name_b, "@");

	if (a->is_label != b->is_label)
		return b->is_label;
	if (a->symbol.is_global != b->symbol.is_global)
		return a->symbol.is_global;
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b;
	if (n_a != n_b)
		return n_a < n_b;
	if (count_capitals(name_a, n_a) != count_capitals(name_b, n_b))
		return count_capitals(name_a, n_a) < count_capitals(name_b, n_b);
	return memcmp(name_a, name_b, n_a) < 0;
}

/* Of ranges with equal start, the larger one comes first, because it is the outer one. */
static int by_range_start(const void *a, const void *b)
{
	const struct range *x = a;
	const struct range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size);
}

static void collect_table(enum table_number number, struct symbol_index *index, size_t *capacity)
{
	struct table_walk walk = { .table = &index->tables.all[number] };
	struct function f;

	while (table_next(&walk, &f)) {
		array_reserve(index->ranges, index->n, *capacity);
		index->ranges[index->n++] = (struct range){
			.start = f.symbol.vaddr,
			.size = f.is_label                   ? 0
				: f.symbol.size < UINT32_MAX ? (uint32_t)f.symbol.size
							     : UINT32_MAX,
			.symbol = (walk.n - 1) | (uint32_t)number << TABLE_SHIFT |
				  (f.is_label ? LABEL : 0),
		};
	}
}

static void collect_ranges(struct symbol_index *index)
{
	size_t capacity = 0;

	for (int t = 0; t < TABLE_N; t++)
		collect_table((enum table_number)t, index, &capacity);
	if (index->n)
		qsort(index->ranges, index->n, sizeof(*index->ranges), by_range_start);
}

static bool is_of_go(const struct range *r)
{
	return r->symbol >> TABLE_SHIFT == TABLE_GO;
}

/* Keep the better name of the two in @to. Any symbol is better than Go's table. */
static void merge_alias(const struct symbol_index *index, struct range *to,
			const struct range *from)
{
	struct function a = function_of(index, to);
	struct function b = function_of(index, from);

	if (!is_of_go(from) && (is_of_go(to) || is_better(&b, &a)))
		to->symbol = from->symbol;
}

/*
 * Keep one range of those with equal start and size. Drop a range without a size if another one at
 * its start has a size. It may be a mark of the linker, and its name is not better. Such ranges
 * come last among those of a start.
 */
static void merge_aliases(struct symbol_index *index)
{
	struct range *r = index->ranges;
	size_t n = 0;

	for (size_t i = 0; i < index->n; i++) {
		bool is_other = n == 0 || r[i].start != r[n - 1].start;

		if (!is_other && r[i].size == r[n - 1].size)
			merge_alias(index, &r[n - 1], &r[i]);
		else if (is_other || r[i].size != 0)
			r[n++] = r[i];
	}
	index->n = n;
	if (n)
		index->ranges = xreallocarray(r, n, sizeof(*r));
}

/* Is it a linker's mark of a section or of all code? These lie at the first function's start. */
static bool is_linker_mark(const char *name)
{
	static const char *const marks[] = {
		"_text", "_stext", "_ftext", "etext", "_etext", "__etext", "__executable_start"
	};

	if (strncmp(name, "__start_", 8) == 0 || strncmp(name, "__stop_", 7) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strcmp(name, marks[i]) == 0)
			return true;
	return false;
}

/* Is it _start without a type, in assembly, at the entry point? It gets its size like others. */
static bool is_untyped_start(const struct image *im, const struct symbol_index *index,
			     const struct range *r)
{
	return r->start == im->entry && is_label_range(r) &&
	       strcmp(function_of(index, r).symbol.name, "_start") == 0;
}

/* Turn labels into functions if .eh_frame begins a function there. After merge_aliases(), no other
 * symbol has their start. */
static void find_untyped(const struct image *im, struct symbol_index *index)
{
	for (size_t i = 0; i < index->n; i++) {
		struct range *r = &index->ranges[i];
		uint64_t end = is_label_range(r) ? frame_end_of(&index->frames, r->start) : 0;

		if (end == 0) {
			if (is_untyped_start(im, index, r))
				r->symbol &= ~LABEL;
			continue;
		}

		const struct function f = function_of(index, r);

		if (is_linker_mark(f.symbol.name))
			continue;
		end = end < f.section_end ? end : f.section_end;
		r->size = end - r->start < UINT32_MAX ? (uint32_t)(end - r->start) : UINT32_MAX;
		r->symbol &= ~LABEL;
	}
}

static uint64_t range_end(const struct range *r)
{
	return r->start + r->size;
}

/* The first of @i and its outer ranges that ends after @vaddr, or NONE. */
static uint32_t find_reaching_range(const struct symbol_index *index, uint32_t i, uint64_t vaddr)
{
	while (i != NONE && range_end(&index->ranges[i]) <= vaddr)
		i = index->outer[i];
	return i;
}

/* Is @label inside of function @of, as "blend.loop" is inside of "blend"? */
static bool is_label_inside(const struct symbol_index *index, const struct range *label,
			    const char *of, size_t n)
{
	return is_label_range(label) &&
	       strncmp(function_of(index, label).symbol.name, of, n) == 0 &&
	       function_of(index, label).symbol.name[n] == '.';
}

/* The start of the next function or label that is no part of range @i, or @end. */
static uint64_t next_start(const struct symbol_index *index, uint32_t i, const char *name,
			   uint64_t end)
{
	size_t n = strcspn(name, "@");
	size_t next = i + 1;

	while (next < index->n && index->ranges[next].start < end) {
		if (!is_label_inside(index, &index->ranges[next], name, n))
			return index->ranges[next].start;
		next++;
	}
	return end;
}

/* The end of the certain part of the function at @start, if symbols may be missing. */
static uint64_t sure_end(const struct frames *frames, uint64_t start, uint64_t end)
{
	const uint64_t frame = frame_end_of(frames, start);

	if (frame == 0)
		return start + 1;
	return frame < end ? frame : end;
}

/*
 * Set the size of range @i, whose symbol has none. It ends with its section or the outer range, at
 * the next function, or where .eh_frame ends it.
 */
static void set_missing_size(struct symbol_index *index, uint32_t i, uint32_t outer)
{
	struct range *r = &index->ranges[i];
	struct function f = function_of(index, r);
	uint64_t end = f.section_end;

	if (outer != NONE && range_end(&index->ranges[outer]) < end)
		end = range_end(&index->ranges[outer]);
	end = next_start(index, i, f.symbol.name, end);
	end = index->has_all ? frame_end(&index->frames, r->start, end)
			     : sure_end(&index->frames, r->start, end);
	r->size = end - r->start < UINT32_MAX ? (uint32_t)(end - r->start) : UINT32_MAX;
}

/* Set the outer range of each. At most one later range skips a range, so this takes linear time. */
static void find_outer(struct symbol_index *index)
{
	index->outer = xcalloc(index->n, sizeof(*index->outer));
	for (uint32_t i = 0; i < index->n; i++) {
		struct range *r = &index->ranges[i];
		uint32_t outer = find_reaching_range(index, i ? i - 1 : NONE, r->start);

		if (r->size == 0 && !is_label_range(r))
			set_missing_size(index, i, outer);
		index->outer[i] = find_reaching_range(index, outer, range_end(r));
	}
}

/*
 * Does every function in .eh_frame have a symbol? If one has none, the symbol tables were stripped
 * in part, and functions that .eh_frame does not have may lack a symbol, too. Stubs never have one.
 */
static bool has_symbols_of_frames(const struct image *im, const struct symbol_index *index)
{
	uint64_t furthest = 0;
	size_t at = 0, n_stubs = 0;

	for (uint32_t i = 0; i < index->frames.n; i++) {
		const struct image_frame frame = frames_nth(&index->frames, i);
		const uint64_t start = frame.start, end = frame.end + (frame.end == start);

		for (; at < index->n && index->ranges[at].start < end; at++) {
			const struct range *r = &index->ranges[at];
			const uint64_t behind = r->start + (r->size ? r->size : 1);

			furthest = behind > furthest ? behind : furthest;
		}
		if (furthest > start)
			continue;
		if (++n_stubs > MOST_STUB_FRAMES || !plt_holds(im, start))
			return false;
	}
	return true;
}

static struct symbol_index *build_index(const struct image *im)
{
	struct symbol_index *index = xcalloc(1, sizeof(*index));

	index->tables = tables_find(im);
	index->frames = frames_of(im);
	index->all_frames = index->frames;
	if (!index->frames.rows)
		index->own_rows = frames_make_rows(im, &index->all_frames);
	index->entry = entry_points_of(im, &index->all_frames);
	collect_ranges(index);
	merge_aliases(index);
	find_untyped(im, index);
	index->has_all = (image_has_symtab(im) || (im->debug && image_has_symtab(im->debug))) &&
			 has_symbols_of_frames(im, index);
	find_outer(index);
	return index;
}

/* The last range that begins at or before @vaddr, or NONE. */
static uint32_t last_range_before(const struct symbol_index *index, uint64_t vaddr)
{
	size_t low = 0;
	size_t high = index->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->ranges[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint32_t)(low - 1) : NONE;
}

static const struct symbol_index *symbol_index_of(struct image *im)
{
	if (!im->index)
		im->index = build_index(im);
	return im->index;
}

bool image_function_start(struct image *im, uint64_t vaddr, uint64_t *ret_start)
{
	struct image_frame frame;

	if (!frames_last(&symbol_index_of(im)->all_frames, vaddr, &frame) || vaddr >= frame.end)
		return false;
	*ret_start = frame.start;
	return true;
}

bool image_frame_at(struct image *im, uint64_t vaddr, struct image_frame *ret)
{
	const bool is_found = frames_last(&symbol_index_of(im)->all_frames, vaddr, ret);

	ret->end += ret->end == ret->start;
	return is_found && vaddr < ret->end;
}

bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	const struct symbol_index *index = symbol_index_of(im);
	uint32_t i = find_reaching_range(index, last_range_before(index, vaddr), vaddr);

	if (i == NONE)
		return entry_function_at(&index->entry, vaddr, ret) ||
		       plt_function_at(im, vaddr, ret);
	*ret = function_of(index, &index->ranges[i]).symbol;
	ret->name = image_cut_version(im, ret->name, "");
	ret->size = index->ranges[i].size;
	return true;
}
