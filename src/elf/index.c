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
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/debug.h"
#include "elf/internal.h"

/* --- procedure linkage tables --- */

/*
 * Stubs of procedure linkage tables have no symbols. Each jumps through a slot, and the
 * relocation of that slot names the function.
 *
 * In a static program, relocations of IFUNCs have no symbol, either. They have the address of the
 * resolver, which has a symbol.
 */

#define STUB_STEP 8 /* stubs begin at multiples of this */

struct stub {
	uint64_t vaddr;
	uint64_t slot;
	uint64_t resolver; /* if there is no @name */
	const char *name;  /* with its version; lent by the image. NULL: none */
	uint8_t size;
};

/* All stubs of an image, by ascending address. */
struct plt {
	bool is_read;
	struct stub *stubs;
	size_t n;
};

struct slots {
	struct slot {
		uint64_t vaddr;
		uint64_t resolver;
		const char *name;
	} * list;
	size_t n, capacity;
	size_t left; /* bytes that we may read: sections may overlap, and exceed the file together
		      */
	size_t name_bytes; /* bytes of names read so far */
};

static bool is_plt_section(const struct section *s)
{
	return s->flags & SHF_EXECINSTR && strncmp(s->name, ".plt", 4) == 0 &&
	       (s->name[4] == '\0' || s->name[4] == '.');
}

/* A relocation of any of the four forms: for each class of files, with and without an addend. */
static Elf64_Rela read_relocation(const struct image *im, const uint8_t *at, size_t bytes)
{
	Elf64_Rela wide = {};
	Elf32_Rela narrow = {};

	if (im->is_64_bit) {
		memcpy(&wide, at, bytes);
		return wide;
	}
	memcpy(&narrow, at, bytes);
	return (Elf64_Rela){
		.r_offset = narrow.r_offset,
		.r_info = ELF64_R_INFO((uint64_t)ELF32_R_SYM(narrow.r_info),
				       ELF32_R_TYPE(narrow.r_info)),
		.r_addend = (uint32_t)narrow.r_addend,
	};
}

static void read_slots(const struct image *im, const struct section *s, struct slots *slots)
{
	struct slice bytes = section_bytes(im, s);
	const size_t word = im->is_64_bit ? 8 : 4, size = s->type == SHT_RELA ? 3 * word : 2 * word;
	struct table table = {};

	if (s->link < im->n_sections)
		table = table_of(im, &im->sections[s->link]);
	if (bytes.size > slots->left)
		return;
	slots->left -= bytes.size;
	for (size_t at = 0; bytes.size - at >= size; at += size) {
		const Elf64_Rela r = read_relocation(im, bytes.data + at, size);
		const uint32_t symbol = (uint32_t)ELF64_R_SYM(r.r_info);
		struct slot slot = { .vaddr = r.r_offset, .resolver = (uint64_t)r.r_addend };

		if (!arch_fills_slot((uint32_t)ELF64_R_TYPE(r.r_info), im->is_64_bit))
			continue;
		if (symbol && symbol < table.n && slots->name_bytes < MOST_NAME_BYTES) {
			Elf64_Sym entry = table_entry(&table, symbol);

			slot.name = table_name(&table, &entry, &slots->name_bytes);
		}
		array_push(slots->list, slots->n, slots->capacity, slot);
	}
}

/* Compare stubs or slots, which begin with their address. */
static int by_vaddr(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void find_slots(const struct image *im, struct slots *ret)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].type == SHT_RELA || im->sections[i].type == SHT_REL)
			read_slots(im, &im->sections[i], ret);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_vaddr);
}

/* The base of slots' addresses in position-independent 32-bit code. */
static uint64_t global_table(const struct image *im)
{
	const struct section *plt = section_named(im, ".got.plt");
	const struct section *s = plt ? plt : section_named(im, ".got");

	return s ? s->vaddr : 0;
}

static void read_stubs(const struct image *im, const struct section *s, struct plt *plt,
		       size_t *capacity)
{
	struct slice code = section_bytes(im, s);
	const uint64_t got = im->is_64_bit ? 0 : global_table(im);
	struct stub *last = NULL;

	for (size_t at = 0; at < code.size; at += STUB_STEP) {
		struct stub stub = { .vaddr = s->vaddr + at };
		size_t left = code.size - at;

		if (left > ARCH_STUB_BYTES)
			left = ARCH_STUB_BYTES;
		if (!arch_stub_slot(code.data + at, left, stub.vaddr, im->is_64_bit, got,
				    &stub.slot))
			continue;
		stub.size = (uint8_t)left;
		if (last && stub.vaddr - last->vaddr < last->size)
			last->size = (uint8_t)(stub.vaddr - last->vaddr);
		array_push(plt->stubs, plt->n, *capacity, stub);
		last = &plt->stubs[plt->n - 1];
	}
}

static void read_plt(const struct image *im, struct plt *plt)
{
	struct slots slots = { .left = im->size };
	size_t capacity = 0;

	plt->is_read = true;
	/* At most as many stubs as the file has room for, because sections may overlap. */
	for (size_t i = 0; i < im->n_sections && plt->n < im->size / 8; i++)
		if (is_plt_section(&im->sections[i]))
			read_stubs(im, &im->sections[i], plt, &capacity);
	if (plt->n) {
		qsort(plt->stubs, plt->n, sizeof(*plt->stubs), by_vaddr);
		find_slots(im, &slots);
	}
	for (size_t i = 0; i < plt->n && slots.n; i++) {
		struct stub *stub = &plt->stubs[i];
		const struct slot *slot =
			bsearch(&stub->slot, slots.list, slots.n, sizeof(*slots.list), by_vaddr);

		stub->name = slot ? slot->name : NULL;
		stub->resolver = slot && !slot->name ? slot->resolver : 0;
	}
	free(slots.list);
}

static bool plt_holds(const struct image *im, uint64_t vaddr)
{
	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (is_plt_section(s) && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	}
	return false;
}

/* --- _start and main --- */

/*
 * Find _start and main of a stripped program. Its header gives _start, and _start passes main to
 * libc as the first argument. musl's _start passes its stack to _start_c, which passes main. The
 * architecture knows the instructions that known libcs have there. Any other one ends the search:
 * the _start is of no known libc, and its main gets no name.
 *
 * A library's header may name any entry. So a library's _start must look like one of these, or like
 * that of glibc's dynamic linker, which passes the stack, too.
 */

/* glibc's have 13 instructions, musl's 5 and 7. */
#define MOST_STEPS 24

/* The code of both functions. A range is empty if it is not known. */
struct entry_points {
	struct code_range start; /* _start, at the entry point of the file's header */
	struct code_range main;  /* the function that _start passes to libc */
};

/* The value of a slot, or 0. In a position-independent program, the dynamic linker writes it. */
static uint64_t read_slot(const struct image *im, uint64_t vaddr)
{
	const struct slice bytes = image_bytes_from(im, vaddr);
	uint64_t value = 0;

	if (im->is_fixed && bytes.size >= sizeof(value))
		memcpy(&value, bytes.data, sizeof(value));
	return value;
}

/* Go on to the call or jump to another function. */
static bool follow_start_code(const struct image *im, struct arch_start *s)
{
	for (int i = 0; i < MOST_STEPS; i++) {
		const struct slice code = image_code(im, s->vaddr, ARCH_START_BYTES);
		const enum arch_start_step step = arch_follow_start(s, code.data, code.size);

		if (step != ARCH_START_GOES_ON)
			return step == ARCH_START_LEAVES;
		if (s->argument_at)
			s->argument = read_slot(im, s->argument_at);
	}
	return false;
}

/* The code from @start to its end by .eh_frame, or to @least if that is not known. */
static struct code_range range_of_function(const struct frames *frames, uint64_t start,
					   uint64_t least)
{
	const uint64_t end = frame_end_of(frames, start);

	return (struct code_range){ start, end > start ? end : least };
}

/* The end of the dynamic linker's _start: after the call, another function begins. 0: this is no
 * such _start. */
static uint64_t end_of_linkers_start(const struct image *im)
{
	const struct slice code = image_code(im, im->entry, ARCH_LINKER_START_BYTES);
	const size_t bytes = im->is_64_bit ? arch_linker_start(code.data, code.size) : 0;

	return bytes ? im->entry + bytes : 0;
}

/* Set ret->start if this is no _start of a known libc's programs. */
static void find_other_start(const struct image *im, const struct frames *frames,
			     struct entry_points *ret)
{
	const uint64_t end = end_of_linkers_start(im);

	if (end)
		ret->start = (struct code_range){ im->entry, end };
	else if (im->is_fixed || dynamic_is_program(im))
		ret->start = range_of_function(frames, im->entry, im->entry + 1);
}

static struct entry_points entry_points_of(const struct image *im, const struct frames *frames)
{
	struct entry_points found = {};
	struct arch_start s = { .vaddr = im->entry };

	if (!image_code(im, im->entry, 1).size)
		return found;
	if (!im->is_64_bit || !follow_start_code(im, &s) || !s.has_cleared || !s.has_aligned) {
		find_other_start(im, frames, &found);
		return found;
	}
	found.start = range_of_function(frames, im->entry, s.vaddr);
	if (s.argument_is_stack) {
		s.vaddr = s.target;
		if (!s.target || !follow_start_code(im, &s))
			return found;
	}
	if (s.argument && image_code(im, s.argument, 1).size)
		found.main = range_of_function(frames, s.argument, s.argument + 1);
	return found;
}

static bool range_holds(const struct code_range *range, uint64_t vaddr)
{
	return vaddr >= range->start && vaddr < range->end;
}

/* The one of both that @vaddr lies in. */
static bool entry_function_at(const struct entry_points *p, uint64_t vaddr,
			      struct image_symbol *ret)
{
	const bool is_main = range_holds(&p->main, vaddr);
	const struct code_range *range = is_main ? &p->main : &p->start;

	if (!range_holds(range, vaddr))
		return false;
	*ret = (struct image_symbol){ .name = is_main ? "main" : "_start",
				      .vaddr = range->start,
				      .size = range->end - range->start,
				      .is_global = true };
	return true;
}

/* --- the index --- */

#define NONE UINT32_MAX
/* The functions of .eh_frame that are tables of stubs, at most: .plt, .plt.got, .plt.sec. */
#define MOST_STUB_FRAMES 16
/* A reference: the table's number in the upper two bits, then LABEL, then the symbol's number. */
#define TABLE_MOST ((1U << 29) - 1)
#define TABLE_SHIFT 30
#define LABEL (1U << 29)

_Static_assert(TABLE_MOST < LABEL && TABLE_N <= 4, "a reference holds every symbol");
_Static_assert(MOST_SYMBOLS <= TABLE_MOST, "every symbol that is read has a number");

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
	struct entry_points entry;
	struct plt plt; /* empty until the first look-up of an address in a PLT */
	bool has_all;   /* the tables seem to have every function */
};

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	free(index->ranges);
	free(index->outer);
	free(index->frames.rows);
	free(index->plt.stubs);
	free(index);
}

size_t symbol_index_bytes(const struct symbol_index *index)
{
	if (!index)
		return 0;
	return sizeof(*index) + index->n * (sizeof(*index->ranges) + sizeof(*index->outer)) +
	       index->frames.n * sizeof(*index->frames.rows) +
	       index->plt.n * sizeof(*index->plt.stubs);
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

		for (; at < index->n && index->ranges[at].start < frame.end; at++) {
			const struct range *r = &index->ranges[at];
			const uint64_t behind = r->start + (r->size ? r->size : 1);

			furthest = behind > furthest ? behind : furthest;
		}
		if (furthest > frame.start)
			continue;
		if (++n_stubs > MOST_STUB_FRAMES || !plt_holds(im, frame.start))
			return false;
	}
	return true;
}

static struct symbol_index *build_index(const struct image *im)
{
	struct symbol_index *index = xcalloc(1, sizeof(*index));

	index->tables = tables_find(im);
	frames_read(im, &index->frames);
	index->entry = entry_points_of(im, &index->frames);
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

bool image_has_all(struct image *im)
{
	return symbol_index_of(im)->has_all;
}

bool image_function_start(struct image *im, uint64_t vaddr, uint64_t *ret_start)
{
	struct image_frame frame;

	if (!image_frame_at(im, vaddr, &frame))
		return false;
	*ret_start = frame.start;
	return true;
}

bool image_frame_at(struct image *im, uint64_t vaddr, struct image_frame *ret)
{
	return frames_last(&symbol_index_of(im)->frames, vaddr, ret) && vaddr < ret->end;
}

/* The function at @vaddr in the symbol table, or that of the entry point. */
static bool symbol_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	const struct symbol_index *index = symbol_index_of(im);
	uint32_t i = find_reaching_range(index, last_range_before(index, vaddr), vaddr);

	if (i == NONE)
		return entry_function_at(&index->entry, vaddr, ret);
	*ret = function_of(index, &index->ranges[i]).symbol;
	ret->name = image_cut_version(im, ret->name, "");
	ret->size = index->ranges[i].size;
	return true;
}

static int compare_to_stub(const void *vaddr, const void *stub)
{
	uint64_t at = *(const uint64_t *)vaddr;
	const struct stub *s = stub;

	if (at < s->vaddr)
		return -1;
	return at - s->vaddr >= s->size;
}

/* The stub of a procedure linkage table at @vaddr, with the name of the function that it leads to:
 * "puts@plt". */
static bool plt_function_at(struct image *im, struct plt *plt, uint64_t vaddr,
			    struct image_symbol *ret)
{
	if (!plt_holds(im, vaddr))
		return false;
	if (!plt->is_read)
		read_plt(im, plt);

	const struct stub *stub = NULL;
	struct image_symbol resolver;

	if (plt->n)
		stub = bsearch(&vaddr, plt->stubs, plt->n, sizeof(*stub), compare_to_stub);
	if (!stub)
		return false;

	const char *name = stub->name;

	if (!name && stub->resolver && symbol_function_at(im, stub->resolver, &resolver) &&
	    resolver.vaddr == stub->resolver)
		name = resolver.name;
	if (!name)
		return false;
	*ret = (struct image_symbol){ .name = image_cut_version(im, name, "@plt"),
				      .vaddr = stub->vaddr,
				      .size = stub->size,
				      .is_global = true };
	return true;
}

bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	return symbol_function_at(im, vaddr, ret) ||
	       plt_function_at(im, &im->index->plt, vaddr, ret);
}
