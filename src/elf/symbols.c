// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The symbol tables of a file: its own two, .symtab of its debug file (elf/debug.h), and the
 * functions in Go's table (elf/gopclntab.h). They stay in the mapped file.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strtab.h"
#include "elf/debug.h"
#include "elf/internal.h"

/* --- PT_DYNAMIC --- */

/* Entry *@i of the dynamic segment, and move on. False: there are no more. */
static bool next_dynamic_entry(const struct image *im, size_t *i, uint64_t *tag, uint64_t *value)
{
	const size_t word = im->is_64_bit ? 8 : 4;

	if (*i >= im->dynamic.size / (2 * word))
		return false;

	const uint8_t *at = im->dynamic.data + 2 * word * (*i)++;

	*tag = uint_at(at, word);
	*value = uint_at(at + word, word);
	return *tag != DT_NULL;
}

/* The value of the last entry that has @tag; 0: none has. */
static uint64_t dynamic_value(const struct image *im, uint64_t tag)
{
	uint64_t has, value, found = 0;

	for (size_t i = 0; next_dynamic_entry(im, &i, &has, &value);)
		if (has == tag)
			found = value;
	return found;
}

bool dynamic_is_program(const struct image *im)
{
	return dynamic_value(im, DT_FLAGS_1) & DF_1_PIE;
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
	struct slice strings = image_bytes_from(im, dynamic_value(im, DT_STRTAB));
	const uint64_t n = dynamic_value(im, DT_STRSZ);

	if (strings.size > n)
		strings.size = n;
	if (im->linker.size && im->linker.data[im->linker.size - 1] == '\0')
		visit(context, NEED_LINKER, (const char *)im->linker.data);
	each_string_of(im, strings, DT_RUNPATH, NEED_FOLDERS, visit, context);
	each_string_of(im, strings, DT_RPATH, NEED_FOLDERS, visit, context);
	each_string_of(im, strings, DT_NEEDED, NEED_LIBRARY, visit, context);
}

/* --- symbol tables --- */

/*
 * We search at most this many segments for a symbol. A hostile file may have many symbols in no
 * segment.
 */
#define MOST_SEGMENTS 64

static size_t symbol_bytes(const struct image *im)
{
	return im->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

struct table table_of(const struct image *im, const struct section *s)
{
	struct table table = { .of = im };

	if (s->link >= im->n_sections)
		return table;
	table.symbols = section_bytes(im, s);
	table.strings = section_strings(im, &im->sections[s->link]);

	size_t n = table.symbols.size / symbol_bytes(im);

	table.n = n <= MOST_SYMBOLS ? (uint32_t)n : 0;
	return table;
}

static struct table table_find(const struct image *im, uint32_t type)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].type == type)
			return table_of(im, &im->sections[i]);
	return (struct table){ .of = im };
}

struct tables tables_find(const struct image *im)
{
	struct tables tables = { { [TABLE_SYMTAB] = table_find(im, SHT_SYMTAB),
				   [TABLE_DYNSYM] = table_find(im, SHT_DYNSYM) } };

	tables.all[TABLE_DYNSYM].is_by_address = true;
	if (im->debug)
		tables.all[TABLE_DEBUG] = table_find(im->debug, SHT_SYMTAB);
	tables.all[TABLE_GO].of = im;
	if (go_table_of(im, &tables.all[TABLE_GO].go))
		tables.all[TABLE_GO].n = tables.all[TABLE_GO].go.n;
	return tables;
}

/* memcpy(), because a foreign file may align nothing. */
Elf64_Sym table_entry(const struct table *table, uint32_t i)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (table->of->is_64_bit) {
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

const char *table_name(const struct table *table, const Elf64_Sym *entry, size_t *bytes)
{
	if (entry->st_name >= table->strings.size)
		return NULL;

	const char *name = (const char *)table->strings.data + entry->st_name;

	if (!name[0] || name[0] == '@')
		return NULL;

	const size_t n = strnlen(name, MAX_NAME);

	*bytes += n;
	return n == MAX_NAME ? NULL : name;
}

/* Is it a function or a label? Labels "$x" and ".annobin_x" are marks of tools. */
static bool is_function_or_label(unsigned type, const char *name)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && name[0] != '$' && name[0] != '.');
}

/* Find the end of the section of code that @entry is in. */
static bool find_section(const struct table *table, const Elf64_Sym *entry, uint64_t *ret_end)
{
	const struct image *im = table->of;

	if (entry->st_shndx >= im->n_sections)
		return false;

	const struct section *section = &im->sections[entry->st_shndx];

	*ret_end = section->vaddr + section->size;
	return (section->flags & SHF_EXECINSTR) && entry->st_value >= section->vaddr &&
	       entry->st_value < *ret_end;
}

/* Find the end of the segment of code that @entry's address is in. */
static bool find_segment(const struct table *table, const Elf64_Sym *entry, uint64_t *ret_end)
{
	const struct image *im = table->of;

	if (entry->st_shndx == SHN_UNDEF ||
	    (entry->st_shndx >= SHN_LORESERVE && entry->st_shndx != SHN_XINDEX))
		return false;
	for (size_t i = 0; i < im->n_segments && i < MOST_SEGMENTS; i++) {
		const struct segment *s = &im->segments[i];

		*ret_end = s->vaddr + s->file_bytes;
		if (s->is_executable && entry->st_value >= s->vaddr && entry->st_value < *ret_end)
			return true;
	}
	return false;
}

static bool measure_go(const struct go_table *table, uint32_t i, struct function *ret,
		       size_t *bytes)
{
	struct go_function f;
	size_t n;

	if (!go_function_at(table, i, &f))
		return false;
	n = strnlen(f.name, MAX_NAME);
	*bytes += n;
	*ret = (struct function){
		.symbol = { .name = f.name, .vaddr = f.start, .size = f.end - f.start },
		.section_end = f.end,
	};
	return n && n < MAX_NAME && f.name[0] != '@'; /* image_cut_version() would leave nothing */
}

static bool measure_function(const struct table *table, uint32_t i, struct function *ret,
			     size_t *bytes)
{
	if (table->go.n)
		return measure_go(&table->go, i, ret, bytes);

	Elf64_Sym entry = table_entry(table, i);
	unsigned type = ELF64_ST_TYPE(entry.st_info);
	uint64_t end;

	if (!find_section(table, &entry, &end) &&
	    (!table->is_by_address || !find_segment(table, &entry, &end)))
		return false;

	const char *name = table_name(table, &entry, bytes);
	uint64_t most = end - entry.st_value;

	if (!name || !is_function_or_label(type, name))
		return false;
	ret->is_label = type == STT_NOTYPE;
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

bool table_function(const struct table *table, uint32_t i, struct function *ret)
{
	size_t bytes = 0;

	return measure_function(table, i, ret, &bytes);
}

bool table_next(struct table_walk *walk, struct function *ret)
{
	const struct table *table = walk->table;

	while (walk->n < table->n && walk->name_bytes < MOST_NAME_BYTES)
		if (measure_function(table, walk->n++, ret, &walk->name_bytes))
			return true;
	if (walk->n < table->n)
		log_warn_once("%s: skipping some symbols: their names take more than %zu MiB",
			      table->of->name, MOST_NAME_BYTES >> 20);
	return false;
}

/* Make "memcpy" of "memcpy@@GLIBC_2.14". Copies take at most as much memory as both files. */
const char *image_cut_version(struct image *im, const char *name, const char *suffix)
{
	size_t n = strcspn(name, "@");
	size_t most = im->size + (im->debug ? im->debug->size : 0) + 2 * MAX_NAME;

	if (!name[n] && !suffix[0])
		return name;
	if (!im->short_names)
		im->short_names = strtab_new();
	if (strtab_bytes(im->short_names) > most)
		return name;
	if (!suffix[0])
		return strtab_add_n(im->short_names, name, n);

	cleanup_free char *text = xasprintf("%.*s%s", (int)n, name, suffix);

	return strtab_add(im->short_names, text);
}

int image_each_function(struct image *im, image_symbol_visit *visit, void *context)
{
	struct tables tables = tables_find(im);

	if (image_has_symtab(im) || (im->debug && image_has_symtab(im->debug)))
		tables.all[TABLE_GO] = (struct table){}; /* it would repeat all functions */
	for (size_t t = 0; t < ARRAY_SIZE(tables.all); t++) {
		struct table_walk walk = { .table = &tables.all[t] };
		struct function f;

		while (table_next(&walk, &f)) {
			if (f.is_label)
				continue;
			f.symbol.name = image_cut_version(im, f.symbol.name, "");

			int result = visit(context, &f.symbol);
			if (result)
				return result;
		}
	}
	return 0;
}

bool image_has_symtab(const struct image *im)
{
	struct table table = table_find(im, SHT_SYMTAB);
	struct table_walk walk = { .table = &table };
	struct function f;

	while (table_next(&walk, &f))
		if (!f.is_label)
			return true;
	return false;
}
