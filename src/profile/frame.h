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

/* The table's owner lends the strings. They come from foreign files and are not escaped yet. */
struct frame {
	enum frame_kind kind;
	bool is_inlined;        /* into the next frame of its stack; has no offset of its own */
	bool is_machinery;      /* of the tracing itself; trimmed at the top of a kernel stack */
	bool is_in_file;        /* @module is the name of a file */
	bool has_start;         /* has no name, but @offset is valid */
	const char *name;       /* demangled; NULL: none */
	const char *module;     /* file or kernel module, last part of its path; NULL: not known */
	uint64_t addr;          /* of its first hit; other addresses may be the same frame */
	uint64_t offset;        /* from the function's start to the address that the report shows */
	uint64_t module_offset; /* vaddr; with @module */
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
};
