/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/symbols.h - symbol tables, and the functions among their symbols. For elf/ only. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/gopclntab.h"
#include "elf/internal.h"

/* A reference to a symbol has 32 bits: two for the table, one mark, 29 for the number. */
#define TABLE_MOST ((1U << 29) - 1)

_Static_assert(MOST_SYMBOLS <= TABLE_MOST, "every symbol that is read has a number");

/*
 * The bytes of names that we read of one table, at most. All symbols of a hostile table may share
 * one very long name. 64 bytes for each symbol are more than browsers with their templates have.
 */
#define MOST_NAME_BYTES ((size_t)64 * MOST_SYMBOLS)

/* A symbol table. Lent by its image. */
struct table {
	const struct image *of;
	const struct shift *shifts; /* one for each section; NULL: addresses need none */
	struct slice symbols;
	struct slice strings;
	uint32_t n;
	/*
	 * Set for .dynsym. Tools that remove sections ("objcopy -R") number the others anew, but
	 * leave .dynsym as it was. So the address tells whether a symbol is code, not its section.
	 */
	bool is_by_address;
	struct go_table go; /* for TABLE_GO, which has no entries: elf/gopclntab.h */
};

/* If they disagree about a function's name, the first table is right. */
enum table_number { TABLE_SYMTAB, TABLE_DYNSYM, TABLE_DEBUG, TABLE_GO, TABLE_N };

struct tables {
	struct table all[TABLE_N]; /* n is 0 if there is no such table */
};

struct tables tables_find(const struct image *im);

/* The symbol table in @section; n is 0 if it makes no sense. */
struct table table_of(const struct image *im, const struct section *section);

/* The dynamic symbols by PT_DYNAMIC, for a file without section headers. */
struct table dynamic_table(const struct image *im);

/* Entry @i, below n, of any table but TABLE_GO. */
Elf64_Sym table_entry(const struct table *table, uint32_t i);

/* The name with its version, or NULL if there is none or it is too long. Adds the bytes that it has
 * read to *@bytes. */
const char *table_name(const struct table *table, const Elf64_Sym *entry, size_t *bytes);

/* A function with its version. */
struct function {
	struct image_symbol symbol;
	uint64_t section_end; /* the end of its section, or else of its segment */
	bool is_label;        /* it has no type: assembly without ".type" */
};

/* Symbol @i. False: it is no function or label, or undefined, or not in code, or has no name. */
bool table_function(const struct table *table, uint32_t i, struct function *ret);

/* A walk over a table. Begins as { .table }. */
struct table_walk {
	const struct table *table;
	uint32_t n;        /* the number of the next symbol */
	size_t name_bytes; /* bytes of names read so far */
};

/* The next function or label; false: no more. Too many bytes of names end it with a warning. */
bool table_next(struct table_walk *walk, struct function *ret);
