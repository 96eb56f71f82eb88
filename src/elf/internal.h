/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/internal.h - the parts of an image, and the functions that elf/ shares. For elf/ only.
 *
 * The file is mapped, and names and tables stay in the mapping. If the file is truncated
 * meanwhile, image.c gives zeros. Package managers replace programs and libraries by renaming.
 * If a file is overwritten in place, processes/images.c notices it before the next look-up. libelf
 * reads the two header tables. We check them against the file's size once, and keep them in the
 * plain structs below.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/frames.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

/*
 * We do not read larger tables. A table in a sparse file can be gigabytes long without taking any
 * room on disk, and the index takes 20 bytes for each symbol.
 */
#define MOST_SYMBOLS (1U << 22)
/* No compiler makes longer names. In a file with overlapping names, the sum of the lengths can be
 * the square of the file's size. */
#define MAX_NAME ((size_t)65536)

struct lines;
struct strtab;
struct symbol_index;

/* A loadable segment. [offset, offset + file_bytes) is in the file, and no sum overflows. */
struct segment {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_bytes;
	bool is_executable, is_writable;
};

/* vaddr + size does not overflow. Offset and size may be wrong: use section_bytes(). */
struct section {
	const char *name; /* "" if it has none; lent by the image */
	uint64_t flags;
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size;
	uint32_t type;
	uint32_t link;
};

struct image {
	char *name; /* for messages */
	const uint8_t *data;
	size_t size;
	void *memory;   /* the same as @data, to release it */
	bool is_mapped; /* else it is on the heap */
	struct image *next_mapped;
	volatile bool is_damaged; /* a part was missing when we read it; a signal handler sets it */
	bool is_64_bit;
	uint64_t entry; /* vaddr of the entry point, from the header */
	bool is_fixed;  /* ET_EXEC: a program that is mapped where it was linked */
	struct segment *segments;
	size_t n_segments;
	struct section *sections;
	size_t n_sections;
	struct slice *notes; /* segments of notes, PT_NOTE */
	size_t n_notes;
	struct slice dynamic;       /* PT_DYNAMIC; empty if there is none */
	struct slice linker;        /* PT_INTERP; empty if there is none */
	struct symbol_index *index; /* NULL until the first look-up */
	struct lines *lines;        /* NULL until the first question about source lines */
	struct image *debug;        /* the debug file, whose .symtab we use, too; NULL: none */
	struct strtab *short_names; /* names without their "@VERSION"; NULL until needed */
};

/*
 * Replace the header pages of a mapped file by a copy that is writable. Only these, because all of
 * a large file would count as data (RLIMIT_DATA). False: they stay read-only.
 */
bool image_unlock_headers(const struct image *im);

/* The first section of that name; NULL: there is none. */
const struct section *section_named(const struct image *im, const char *name);

/* Is the file a position-independent program? Linkers set DF_1_PIE in these since 2015. */
bool dynamic_is_program(const struct image *im);

/* The bytes of @section in the file. Empty if it has none there, lies outside of the file, is
 * compressed or larger than 512 MiB. */
struct slice section_bytes(const struct image *im, const struct section *section);

/*
 * Likewise, cut after the last NUL, so a string that begins inside also ends inside. Empty if there
 * is no NUL in the last MAX_NAME bytes, because we do not search a whole section for one.
 */
struct slice section_strings(const struct image *im, const struct section *section);
struct slice whole_strings(struct slice strings);

/*
 * The bytes of notes that we read of one file, at most. A hole reads as empty notes of 12 bytes
 * each, and any number of sections may lie over the same hole. The largest real section of notes,
 * .gnu.build.attributes, has a few MiB.
 */
#define MOST_NOTES ((size_t)64 << 20)

/* Cut @notes to *@left bytes, and subtract its size from *@left. */
struct slice notes_within(struct slice notes, size_t *left);

struct note {
	uint32_t type;
	const char *owner; /* "" if it is not exactly one string */
	struct slice text;
};

/* Read the next note. Returns 1; 0 if there are no more; -1 if it goes beyond the end. */
int note_next(struct cursor *c, struct note *ret);

/* The segment that has @vaddr, preferably one with code; NULL: there is none. Lent by @im. */
const struct segment *image_segment_of(const struct image *im, uint64_t vaddr);

/* The bytes of the file from @vaddr to the end of its segment. Empty if there are none, or for 0.
 */
struct slice image_bytes_from(const struct image *im, uint64_t vaddr);

void symbol_index_free(struct symbol_index *index);
size_t symbol_index_bytes(const struct symbol_index *index);

/* @name without "@VERSION", or with @suffix in its place. Lent by @im. */
const char *image_cut_version(struct image *im, const char *name, const char *suffix);

/* The functions in .eh_frame. A zeroed one has none. Whoever has it read frees @rows. */
struct frames {
	struct fde_section section; /* lent by the image */
	struct frame_row {
		int32_t start;  /* relative to the section's address */
		uint32_t entry; /* its offset in the section */
	} * rows;               /* by ascending start */
	uint32_t n;
};

void frames_read(const struct image *im, struct frames *ret);

/* Function @i, in ascending order. */
struct image_frame frames_nth(const struct frames *t, uint32_t i);

/* The last function that begins at @vaddr or before. False: none does. */
bool frames_last(const struct frames *t, uint64_t vaddr, struct image_frame *ret);

/*
 * The end of the code that begins at @vaddr, for a symbol without a size: where .eh_frame ends it
 * or begins the next function. At most @end, which it returns if .eh_frame has neither.
 */
uint64_t frame_end(const struct frames *t, uint64_t vaddr, uint64_t end);

/* The end of the function that .eh_frame begins at @vaddr; 0 if it begins none there. */
uint64_t frame_end_of(const struct frames *t, uint64_t vaddr);

void lines_free(struct lines *lines);

/* --- symbol tables, and the functions among their symbols --- */

/*
 * The bytes of names that we read of one table, at most. All symbols of a hostile table may share
 * one very long name. 64 bytes for each symbol are more than browsers with their templates have.
 */
#define MOST_NAME_BYTES ((size_t)64 * MOST_SYMBOLS)

/* A symbol table. Lent by its image. */
struct table {
	const struct image *of;
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
