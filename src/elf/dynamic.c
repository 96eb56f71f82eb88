// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the dynamic symbols of a file without section headers, in the way of the dynamic linker:
 *
 *	PT_DYNAMIC   DT_SYMTAB 0x288   DT_STRTAB 0x330   DT_STRSZ 0x5f   DT_GNU_HASH 0x260
 *
 * These are addresses, and segments give their places in the file. Only a hash table gives the
 * number of symbols. The older kind has it in its header. In the other kind, the last chain ends
 * with the last symbol.
 */
#include <string.h>

#include "elf/symbols.h"

struct places {
	uint64_t symbols, strings, strings_size, symbol_size, hash, gnu_hash;
};

static uint64_t dynamic_word_at(const uint8_t *at, size_t size)
{
	uint64_t wide;
	uint32_t narrow;

	if (size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static uint32_t table_u32_at(struct slice s, uint64_t i)
{
	return (uint32_t)dynamic_word_at(s.data + i * sizeof(uint32_t), sizeof(uint32_t));
}

/* Entry *@i of the dynamic segment, and move on. False: there are no more. */
static bool next_dynamic_entry(const struct image *im, size_t *i, uint64_t *tag, uint64_t *value)
{
	const size_t word = im->is_64_bit ? 8 : 4;

	if (*i >= im->dynamic.size / (2 * word))
		return false;

	const uint8_t *at = im->dynamic.data + 2 * word * (*i)++;

	*tag = dynamic_word_at(at, word);
	*value = dynamic_word_at(at + word, word);
	return *tag != DT_NULL;
}

bool dynamic_is_program(const struct image *im)
{
	uint64_t tag, value;

	for (size_t i = 0; next_dynamic_entry(im, &i, &tag, &value);)
		if (tag == DT_FLAGS_1)
			return value & DF_1_PIE;
	return false;
}

static uint64_t *member_of_tag(struct places *p, uint64_t tag)
{
	switch (tag) {
	case DT_SYMTAB:
		return &p->symbols;
	case DT_STRTAB:
		return &p->strings;
	case DT_STRSZ:
		return &p->strings_size;
	case DT_SYMENT:
		return &p->symbol_size;
	case DT_HASH:
		return &p->hash;
	case DT_GNU_HASH:
		return &p->gnu_hash;
	}
	return NULL;
}

static struct places find_dynamic_places(const struct image *im)
{
	struct places places = {};
	uint64_t tag, value, *place;

	for (size_t i = 0; next_dynamic_entry(im, &i, &tag, &value);) {
		place = member_of_tag(&places, tag);
		if (place)
			*place = value;
	}
	return places;
}

/* Call @visit with the strings of the entries that have @tag. */
static void each_string_of(const struct image *im, struct slice strings, uint64_t tag,
			   enum image_need what, image_need_visit *visit, void *context)
{
	uint64_t has, offset;

	for (size_t i = 0; next_dynamic_entry(im, &i, &has, &offset);)
		if (has == tag && offset < strings.size &&
		    memchr(strings.data + offset, '\0', strings.size - offset))
			visit(context, what, (const char *)strings.data + offset);
}

void image_each_need(const struct image *im, image_need_visit *visit, void *context)
{
	const struct places places = find_dynamic_places(im);
	struct slice strings = image_bytes_from(im, places.strings);

	if (strings.size > places.strings_size)
		strings.size = places.strings_size;
	if (im->linker.size && im->linker.data[im->linker.size - 1] == '\0')
		visit(context, NEED_LINKER, (const char *)im->linker.data);
	each_string_of(im, strings, DT_RUNPATH, NEED_FOLDERS, visit, context);
	each_string_of(im, strings, DT_RPATH, NEED_FOLDERS, visit, context);
	each_string_of(im, strings, DT_NEEDED, NEED_LIBRARY, visit, context);
}

/* The table: u32 n_buckets, n_chains. There is a chain entry for each symbol. */
static uint64_t count_by_hash(struct slice table)
{
	return table.size >= 8 ? table_u32_at(table, 1) : 0;
}

/*
 * The table:
 *	u32 n_buckets, first_symbol, n_words, shift
 *	n_words of a Bloom filter
 *	u32 buckets[]   the first symbol of the bucket's chain, or 0
 *	u32 chains[]    one for each symbol from first_symbol on; odd at the end of a chain
 */
static uint64_t count_by_gnu_hash(struct slice table, size_t word)
{
	uint64_t last = 0;

	if (table.size < 16)
		return 0;

	const uint64_t n_all = table.size / 4;
	const uint32_t n_buckets = table_u32_at(table, 0), first = table_u32_at(table, 1);
	const uint64_t buckets = 4 + (uint64_t)table_u32_at(table, 2) * (word / 4);
	const uint64_t chains = buckets + n_buckets;

	if (chains > n_all)
		return 0;
	for (uint32_t i = 0; i < n_buckets; i++)
		if (table_u32_at(table, buckets + i) > last)
			last = table_u32_at(table, buckets + i);
	if (last < first)
		return first; /* undefined symbols come first, and are in no chain */
	for (; last - first < n_all - chains; last++)
		if (table_u32_at(table, chains + (last - first)) & 1)
			return last + 1;
	return 0;
}

struct table dynamic_table(const struct image *im)
{
	const struct places p = find_dynamic_places(im);
	const size_t word = im->is_64_bit ? 8 : 4;
	const size_t bytes = im->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct table table = { .of = im, .symbols = image_bytes_from(im, p.symbols) };
	struct slice strings = image_bytes_from(im, p.strings);
	uint64_t n = count_by_hash(image_bytes_from(im, p.hash));

	if (!n)
		n = count_by_gnu_hash(image_bytes_from(im, p.gnu_hash), word);
	if (p.symbol_size != bytes || n > table.symbols.size / bytes || n > MOST_SYMBOLS)
		return table;
	if (strings.size > p.strings_size)
		strings.size = p.strings_size;
	table.strings = whole_strings(strings);
	table.n = (uint32_t)n;
	return table;
}
