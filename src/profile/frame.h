/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/frame.h - a frame: an address with its name. A table has each frame once. A stack is a
 * row of frame numbers, so equal stacks have equal rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_KERNEL,
	FRAME_USER,
	/* Marks, which have no address. The name is the reason. */
	FRAME_UNVERIFIED, /* frames of the stack may be wrong or missing: "frame pointers" */
	FRAME_CUT,        /* the stack is not whole: "depth" */
};

#define NO_IMAGE UINT32_MAX
#define NO_OFFSET UINT64_MAX /* not known: pprof files have none */

/*
 * The file, kernel module or memory that code comes from. The table's owner lends the strings. They
 * come from foreign files and are not escaped yet.
 */
struct frame_image {
	const char *path;     /* as its process mapped it; "[kernel]", "[ext4]", "[vdso]" */
	const char *build_id; /* lower-case hex digits; NULL: none, or not known */
	/* A mapping of it in one process, so that tools can compute with true addresses. */
	uint64_t start, limit; /* run-time addresses; both 0: not known */
	uint64_t offset;       /* in the file, of @start */
};

/* The table's owner lends the strings. They come from foreign files and are not escaped yet. */
struct frame {
	enum frame_kind kind;
	uint32_t image;       /* number in the table's images; NO_IMAGE: in none, or not recorded */
	bool is_inlined;      /* into the next frame of its stack; has no offset of its own */
	bool is_machinery;    /* of the tracing itself; trimmed at the top of a kernel stack */
	bool is_jit;          /* its name is from a perf map, or no file backs its memory */
	bool is_in_file;      /* @module is the name of a file */
	bool has_start;       /* has no name, but @offset is valid */
	const char *name;     /* demangled; NULL: none */
	const char *module;   /* file or kernel module, last part of its path; NULL: not known */
	uint64_t addr;        /* of its first hit; other addresses may be the same frame */
	uint64_t file_offset; /* of the code in its image's file; with @image of a file */
	uint64_t offset;      /* from the function's start to the address that the report shows, or
				 NO_OFFSET */
	uint64_t module_offset; /* vaddr, or NO_OFFSET; with @module */
	const char *raw_name;   /* as in the symbol table; NULL: equal to @name */
	const char *file;       /* source file, last part of its path; NULL: not known */
	uint32_t line;
};

static inline bool frame_is_mark(const struct frame *frame)
{
	return frame->kind >= FRAME_UNVERIFIED;
}

struct frame_table {
	struct frame *frames;
	size_t n;
	size_t capacity;
	struct frame_image *images;
	size_t n_images;
	size_t image_capacity;
};
