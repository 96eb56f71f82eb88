/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/internal.h - the parts of an image, and the functions that elf/ shares. For elf/ only.
 *
 * The file is mapped, and names and tables stay in the mapping. Package managers replace programs
 * and libraries by renaming. If a file is overwritten in place, processes/images.c notices it
 * before the next look-up. libelf reads the two header tables. We check them against the file's
 * size once, and keep them in the plain structs below.
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

void lines_free(struct lines *lines);
