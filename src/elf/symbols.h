/* elf/symbols.h - symbol tables and what of them is a function. For elf/ only. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/gopclntab.h"
#include "elf/internal.h"

/* Symbols are named by table and number in 32 bits; two are for the table, one is a mark. */
#define TABLE_MOST ((1U << 29) - 1)

_Static_assert(MOST_SYMBOLS <= TABLE_MOST, "every symbol that is read has a number");

/*
 * The names of a table may all be one that is as long as can be: bytes of names are looked at as
 * many as the most symbols have at 64 each, more than those of browsers with all their templates.
 */
#define MOST_NAME_BYTES ((size_t)64 * MOST_SYMBOLS)

/* Lent by its image. */
struct table {
	const struct image *of;
	const struct shift *shifts; /* of each section; NULL: addresses are as they are to be */
	struct slice symbols;
	struct slice strings;
	uint32_t n;
	/*
	 * Of .dynsym, which tools leave as it was when they take sections away ("objcopy -R") and
	 * so number the others anew: the address says whether a symbol is code, not its section.
	 */
	bool is_by_address;
	struct go_table go; /* of TABLE_GO, which has no entries: elf/gopclntab.h */
};

/* Where they disagree about a function's name, the first one is right. */
enum table_number { TABLE_SYMTAB, TABLE_DYNSYM, TABLE_DEBUG, TABLE_GO, TABLE_N };

struct tables {
	struct table all[TABLE_N]; /* n is 0 where there is none */
};

struct tables tables_find(const struct image *im);

/* The table that @section is; n is 0 where that makes no sense. */
struct table table_of(const struct image *im, const struct section *section);

/* The symbols that the dynamic linker is led to: for a file without section headers. */
struct table dynamic_table(const struct image *im);

/* @i is below n; not of TABLE_GO. */
Elf64_Sym table_entry(const struct table *table, uint32_t i);

/*
 * NULL where it has none, or one too long. Its version is not cut. *@bytes: how many were looked
 * at is added.
 */
const char *table_name(const struct table *table, const Elf64_Sym *entry, size_t *bytes);

/* A function with its version, and where its section (or else segment) ends. */
struct function {
	struct image_symbol symbol;
	uint64_t section_end;
	bool is_label; /* its type is not said: assembly that does without ".type" */
};

/* Symbol @i; false: not a function or label that is defined here, in code, with a name. */
bool table_function(const struct table *table, uint32_t i, struct function *ret);

/* All of a table, from { .table }. */
struct table_walk {
	const struct table *table;
	uint32_t n;        /* the number of the last one given, and 1 */
	size_t name_bytes; /* of names that were looked at */
};

/* The next function or label; false: no more. Too many bytes of names end it, which is told. */
bool table_next(struct table_walk *walk, struct function *ret);
