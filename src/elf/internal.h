/*
 * elf/internal.h - what an image is made of. For elf/ only.
 *
 * The file is mapped, not read: names and tables are used where they lie. (Of a file
 * that is cut short while it is mapped, zeros are read: elf/guard.h. Programs and libraries are
 * replaced by renaming; where one may be overwritten in place, who looks it up again
 * sees first whether it was: processes/images.c.) libelf reads the two header tables;
 * what they say is checked against the file's size here, once, and kept in the plain
 * structs below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/guard.h"
#include "elf/image.h"

/*
 * More symbols than any file has are not read: a table can be gigabytes long without taking any
 * room on disk, and an index of it takes 20 bytes for each.
 */
#define MOST_SYMBOLS (1U << 22)
/* No compiler makes longer names; a file whose names overlap can take their sum to its square. */
#define MAX_NAME ((size_t)65536)

struct lines;
struct plt;
struct strtab;
struct symbol_index;

/* A loadable one. [offset, offset + file_bytes) is inside the file, and no sum overflows. */
struct segment {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_bytes;
	bool is_executable;
};

/* vaddr + size does not overflow. What lies in the file is asked with section_bytes(). */
struct section {
	const char *name; /* "" where it has none; lent by the file */
	uint64_t flags;
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size;
	uint32_t type;
	uint32_t link;
};

/* Some bytes of the file. */
struct slice {
	const uint8_t *data;
	size_t size;
};

struct image {
	char *name; /* for messages */
	const uint8_t *data;
	size_t size;
	void *memory;   /* the same as @data, to release */
	bool is_mapped; /* else on the heap */
	uint32_t guard; /* GUARD_NONE: not mapped, or not guarded */
	bool is_64_bit;
	uint64_t entry; /* vaddr, as its header says */
	bool has_64_bit_code;
	bool is_fixed; /* a program that is mapped where it was linked to be */
	struct segment *segments;
	size_t n_segments;
	struct section *sections;
	size_t n_sections;
	struct slice *notes; /* segments of them */
	size_t n_notes;
	struct segment frame_header; /* PT_GNU_EH_FRAME; no bytes where there is none */
	struct section
		frames[2];    /* by that segment, of a file whose section headers tell of none */
	struct slice dynamic; /* what the dynamic linker is told; empty where there is none */
	struct symbol_index *index; /* NULL until the first look-up */
	struct lines *lines;        /* NULL until source lines are asked for */
	struct plt *plt;            /* NULL until an address in a PLT is looked up */
	struct image *debug;        /* its .symtab is used too; NULL: none */
	struct shift *shifts;       /* of each section of @debug */
	struct strtab *short_names; /* those whose "@VERSION" was cut; NULL until needed */
};

/* Fill @im's segments and sections from its data. Errors: -ENOEXEC. */
must_check int image_read_headers(struct image *im, struct error *e);

/*
 * Let the headers of a mapped file be written to, in our copy. All of a large file would count as
 * data (RLIMIT_DATA).
 */
bool image_unlock_headers(const struct image *im);

/* The first one of that name; NULL: there is none. Without section headers, see image.frames. */
const struct section *section_named(const struct image *im, const char *name);

/* Is it said to be a program, though it can lie anywhere? Linkers do so since 2015. */
bool dynamic_is_program(const struct image *im);

/* The part of @section that the file holds; empty where it is none or lies outside. */
struct slice section_bytes(const struct image *im, const struct section *section);

/*
 * The same, cut behind its last NUL: a string that begins inside also ends inside. Empty where
 * there is none in the last MAX_NAME bytes: strings are not looked through from end to end.
 */
struct slice section_strings(const struct image *im, const struct section *section);
struct slice whole_strings(struct slice strings);

/*
 * Bytes of notes that are read of one file. A hole reads as empty notes of 12 bytes each, and any
 * number of sections may lie over the same hole. The largest real section of notes,
 * .gnu.build.attributes, has a few MiB.
 */
#define MOST_NOTES ((size_t)64 << 20)

/* The part of @notes that lies within @left bytes, which it takes. */
struct slice notes_within(struct slice notes, size_t *left);

/* The one that holds @vaddr, of several one with code; NULL: none does. Lent by @im. */
const struct segment *image_segment_of(const struct image *im, uint64_t vaddr);

/* What is to be added to addresses in a section of a debug file. */
struct shift {
	uint64_t by;
	bool is_known; /* else the section is no part of the file that the debug file is for */
};

/* Is each section of code of @debug one of @im, by name and size? */
bool image_has_code_of(const struct image *im, const struct image *debug);

void symbol_index_free(struct symbol_index *index);
size_t symbol_index_bytes(const struct symbol_index *index);

/* @name without "@VERSION", or with @suffix in its place. Lent by @im. */
const char *image_cut_version(struct image *im, const char *name, const char *suffix);

/* What .eh_frame_hdr and .eh_frame tell of functions; no rows where they tell nothing. Lent. */
struct frames {
	uint64_t vaddr; /* of .eh_frame_hdr */
	const uint8_t *rows;
	uint32_t n;
	struct slice entries;
	uint64_t entries_vaddr;
};

#define FRAMES_ROW_BYTES ((size_t)8)

struct frames frames_of(const struct image *im);

/*
 * The same for a file without .eh_frame_hdr, by going through .eh_frame. @ret borrows the returned
 * memory, which the caller frees.
 */
void *frames_make_rows(const struct image *im, struct frames *ret);

/* Without section headers, .eh_frame_hdr and .eh_frame are where a segment says. */
void frames_find_sections(struct image *im);

/* Where function @i begins, of those by rising address, and ends: one byte on if not told. */
uint64_t frames_start(const struct frames *t, uint32_t i, uint64_t *ret_end);

/*
 * Where the code ends that begins at @vaddr and says no size itself, by what .eh_frame tells of
 * it or of the next; @end where it tells nothing, and never more.
 */
uint64_t frame_end(const struct frames *t, uint64_t vaddr, uint64_t end);

/* Where the code ends that .eh_frame says begins at @vaddr; 0 where it says no such thing. */
uint64_t frame_end_of(const struct frames *t, uint64_t vaddr);

/* The beginning, by .eh_frame, of the function that @vaddr lies in. False: none is there. */
bool frame_start_of(const struct frames *t, uint64_t vaddr, uint64_t *ret_start);

void lines_free(struct lines *lines);

/* The stub of a procedure linkage table at @vaddr, by the name of what it leads to. */
bool plt_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret);
bool plt_holds(const struct image *im, uint64_t vaddr);
void plt_free(struct plt *plt);
size_t plt_bytes(const struct plt *plt);
