/*
 * The symbol tables are read where they lie in the file; the index holds 20
 * bytes for each function and no name. Tables are not tidy:
 *
 *	0x9f0a0 240 malloc, __libc_malloc, __GI___libc_malloc    aliases
 *	0x2a1c0   0 __restore_rt                                 size not said
 *	0x9c840 300 __lll_lock_wait  0x9c860 4 a label in it     nested
 *
 * and .dynsym says much of .symtab again.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/strtab.h"
#include "elf/internal.h"

/* No compiler makes longer names; a file whose names overlap can take their sum to its square. */
#define MAX_NAME ((size_t)65536)
#define NONE UINT32_MAX
#define DYNAMIC 0x80000000u /* in a reference: .dynsym's, else .symtab's */

struct table {
	struct slice symbols;
	struct slice strings;
	uint32_t n;
};

struct tables {
	struct table all[2]; /* .symtab, .dynsym; empty where there is none */
};

/* [start, start + size); @symbol is its number in its table, with DYNAMIC. */
struct range {
	uint64_t start;
	uint32_t size;
	uint32_t symbol;
};

/* Ranges by rising start, and where these are equal by falling size. */
struct symbol_index {
	struct tables tables;
	struct range *ranges;
	/* Of each range the nearest one before it that ends later, or NONE. */
	uint32_t *outer;
	size_t n;
};

static size_t symbol_bytes(const struct image *im)
{
	return im->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/* The first section of @type with its strings. */
static struct table find_table(const struct image *im, uint32_t type)
{
	struct table table = {};

	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (s->type != type || s->link >= im->n_sections)
			continue;
		table.symbols = section_bytes(im, s);
		table.strings = section_strings(im, &im->sections[s->link]);

		size_t n = table.symbols.size / symbol_bytes(im);

		table.n = n < DYNAMIC ? (uint32_t)n : 0;
		break;
	}
	return table;
}

static struct tables find_tables(const struct image *im)
{
	return (struct tables){ { find_table(im, SHT_SYMTAB), find_table(im, SHT_DYNSYM) } };
}

/* memcpy: nothing in a foreign file need be aligned. */
static Elf64_Sym read_entry(const struct image *im, const struct table *table, uint32_t i)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (im->is_64_bit) {
		memcpy(&wide, table->symbols.data + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->symbols.data + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Sym){ .st_name = narrow.st_name,
			    .st_info = narrow.st_info,
			    .st_shndx = narrow.st_shndx,
			    .st_value = narrow.st_value,
			    .st_size = narrow.st_size };
}

/* A function, its version not yet cut, and where its section ends. */
struct function {
	struct image_symbol symbol;
	uint64_t section_end;
};

/* False: not a function that is defined here, in code, with a name. */
static bool read_function(const struct image *im, const struct table *table, uint32_t i,
			  struct function *ret)
{
	Elf64_Sym entry = read_entry(im, table, i);
	unsigned type = ELF64_ST_TYPE(entry.st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || entry.st_shndx >= im->n_sections ||
	    entry.st_name >= table->strings.size)
		return false;

	const struct section *section = &im->sections[entry.st_shndx];
	const char *name = (const char *)table->strings.data + entry.st_name;

	if (!(section->flags & SHF_EXECINSTR) || entry.st_value < section->vaddr ||
	    entry.st_value - section->vaddr >= section->size || !name[0] || name[0] == '@' ||
	    strnlen(name, MAX_NAME) == MAX_NAME)
		return false;

	uint64_t end = section->vaddr + section->size;
	uint64_t most = end - entry.st_value;

	ret->section_end = end;
	ret->symbol = (struct image_symbol){
		.name = name,
		.vaddr = entry.st_value,
		.size = entry.st_size < most ? entry.st_size : most,
		.is_indirect = type == STT_GNU_IFUNC,
		.is_global = ELF64_ST_BIND(entry.st_info) != STB_LOCAL,
	};
	return true;
}

/* "memcpy" of "memcpy@@GLIBC_2.14". Copies take at most as much memory as the file has bytes. */
static const char *cut_version(struct image *im, const char *name)
{
	size_t n = strcspn(name, "@");

	if (!name[n])
		return name;
	if (!im->short_names)
		im->short_names = strtab_new();
	if (strtab_bytes(im->short_names) > im->size + 2 * MAX_NAME)
		return name;
	return strtab_add_n(im->short_names, name, n);
}

int image_each_function(struct image *im, image_symbol_visit *visit, void *context)
{
	struct tables tables = find_tables(im);

	for (size_t t = 0; t < ARRAY_SIZE(tables.all); t++)
		for (uint32_t i = 0; i < tables.all[t].n; i++) {
			struct function f;

			if (!read_function(im, &tables.all[t], i, &f))
				continue;
			f.symbol.name = cut_version(im, f.symbol.name);

			int result = visit(context, &f.symbol);
			if (result)
				return result;
		}
	return 0;
}

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	free(index->ranges);
	free(index->outer);
	free(index);
}

size_t symbol_index_bytes(const struct symbol_index *index)
{
	return index ? sizeof(*index) + index->n * (sizeof(*index->ranges) + sizeof(*index->outer))
		     : 0;
}

/* @symbol is one of the index's, so it was read before and is good. */
static struct function function_of(const struct image *im, const struct tables *tables,
				   uint32_t symbol)
{
	struct function f = { .symbol.name = "" };

	(void)read_function(im, &tables->all[symbol & DYNAMIC ? 1 : 0], symbol & ~DYNAMIC, &f);
	return f;
}

/* Would a person rather write @a? The version is no part of the name. */
static bool is_better(const struct image_symbol *a, const struct image_symbol *b)
{
	size_t underscores_a = strspn(a->name, "_");
	size_t underscores_b = strspn(b->name, "_");
	size_t n_a = strcspn(a->name, "@");
	size_t n_b = strcspn(b->name, "@");

	if (a->is_global != b->is_global)
		return a->is_global;
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b;
	if (n_a != n_b)
		return n_a < n_b;
	return memcmp(a->name, b->name, n_a) < 0;
}

/* Of ranges that begin together, the larger goes first: it is the outer one. */
static int by_start(const void *a, const void *b)
{
	const struct range *x = a;
	const struct range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size);
}

static void collect_table(const struct image *im, const struct table *table, uint32_t mark,
			  struct symbol_index *index, size_t *capacity)
{
	for (uint32_t i = 0; i < table->n; i++) {
		struct function f;

		if (!read_function(im, table, i, &f))
			continue;
		array_reserve(index->ranges, index->n, *capacity);
		index->ranges[index->n++] = (struct range){
			.start = f.symbol.vaddr,
			.size = f.symbol.size < UINT32_MAX ? (uint32_t)f.symbol.size : UINT32_MAX,
			.symbol = i | mark,
		};
	}
}

static void collect(const struct image *im, struct symbol_index *index)
{
	size_t capacity = 0;

	collect_table(im, &index->tables.all[0], 0, index, &capacity);
	collect_table(im, &index->tables.all[1], DYNAMIC, index, &capacity);
	if (index->n)
		qsort(index->ranges, index->n, sizeof(*index->ranges), by_start);
}

/* Keep in @to the better name of the two. */
static void merge_alias(const struct image *im, const struct tables *tables, struct range *to,
			const struct range *from)
{
	struct function a = function_of(im, tables, to->symbol);
	struct function b = function_of(im, tables, from->symbol);

	if (is_better(&b.symbol, &a.symbol))
		to->symbol = from->symbol;
}

/*
 * Leave one range of those with equal start and size. A size of 0 (an alias
 * that does not say it) counts as the largest of the same start; these come
 * last of their start.
 */
static void merge_aliases(const struct image *im, struct symbol_index *index)
{
	struct range *r = index->ranges;
	size_t largest = 0; /* the first kept one of the current start */
	size_t n = 0;

	for (size_t i = 0; i < index->n; i++) {
		if (n == 0 || r[i].start != r[n - 1].start) {
			largest = n;
			r[n++] = r[i];
		} else if (r[i].size == 0) {
			merge_alias(im, &index->tables, &r[largest], &r[i]);
		} else if (r[i].size == r[n - 1].size) {
			merge_alias(im, &index->tables, &r[n - 1], &r[i]);
		} else {
			r[n++] = r[i];
		}
	}
	index->n = n;
	if (n)
		index->ranges = xreallocarray(r, n, sizeof(*r));
}

static uint64_t range_end(const struct range *r)
{
	return r->start + r->size;
}

/* The first of @i and its outer ranges that ends behind @vaddr, or NONE. */
static uint32_t reaching(const struct symbol_index *index, uint32_t i, uint64_t vaddr)
{
	while (i != NONE && range_end(&index->ranges[i]) <= vaddr)
		i = index->outer[i];
	return i;
}

/* What says no size goes on to its section's end, the next one's start or the outer one's end. */
static void bound(const struct image *im, struct symbol_index *index, uint32_t i, uint32_t outer)
{
	struct range *r = &index->ranges[i];
	uint64_t end = function_of(im, &index->tables, r->symbol).section_end;

	if (i + 1 < index->n && index->ranges[i + 1].start < end)
		end = index->ranges[i + 1].start;
	if (outer != NONE && range_end(&index->ranges[outer]) < end)
		end = range_end(&index->ranges[outer]);
	r->size = end - r->start < UINT32_MAX ? (uint32_t)(end - r->start) : UINT32_MAX;
}

/* Each range is passed over by one later range at most, so this takes linear time. */
static void find_outer(const struct image *im, struct symbol_index *index)
{
	index->outer = xcalloc(index->n, sizeof(*index->outer));
	for (uint32_t i = 0; i < index->n; i++) {
		struct range *r = &index->ranges[i];
		uint32_t outer = reaching(index, i ? i - 1 : NONE, r->start);

		if (r->size == 0)
			bound(im, index, i, outer);
		index->outer[i] = reaching(index, outer, range_end(r));
	}
}

static struct symbol_index *build_index(const struct image *im)
{
	struct symbol_index *index = xcalloc(1, sizeof(*index));

	index->tables = find_tables(im);
	collect(im, index);
	merge_aliases(im, index);
	find_outer(im, index);
	return index;
}

/* The last range that begins at or before @vaddr, or NONE. */
static uint32_t last_before(const struct symbol_index *index, uint64_t vaddr)
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

bool image_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	if (!im->index)
		im->index = build_index(im);

	const struct symbol_index *index = im->index;
	uint32_t i = reaching(index, last_before(index, vaddr), vaddr);

	if (i == NONE)
		return false;
	*ret = function_of(im, &index->tables, index->ranges[i].symbol).symbol;
	ret->name = cut_version(im, ret->name);
	ret->size = index->ranges[i].size;
	return true;
}
