/*
 * symbolize/frame.h - an address with its name. Frames are kept once each, in a
 * table; a stack is a row of frame numbers, so equal paths have equal rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_KERNEL,
	FRAME_USER,
	/* Marks, which have no address. The name is the reason. */
	FRAME_UNVERIFIED, /* why frames of the stack may be wrong or missing: "frame pointers" */
	FRAME_CUT,        /* why the stack is not whole: "depth" */
};

/* Strings are lent by the table's owner. Not yet escaped: they come from foreign files. */
struct frame {
	enum frame_kind kind;
	bool is_inlined;        /* into the next frame of its stack; has no offset of its own */
	bool is_machinery;      /* of the tracing itself: left out at the top of a stack */
	bool is_in_file;        /* @module is a file's */
	bool has_start;         /* without a name, but it is known where it begins: see offset */
	const char *name;       /* demangled; NULL: has none */
	const char *module;     /* file or kernel module, last part of its path; NULL: not known */
	uint64_t addr;          /* as seen first (identity may be wider) */
	uint64_t offset;        /* from the function's start, of the address as shown */
	uint64_t module_offset; /* address as linked; with @module */
	const char *file;       /* of the source, last part of its path; NULL: not known */
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
