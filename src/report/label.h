/*
 * report/label.h - the text of a frame, made once for each.
 *
 *	vfs_read                  a name
 *	vfs_read+0x1f             with offsets
 *	[libx.so+0x1200]          no symbol: the function's beginning, for addr2line
 *	[libx.so]                 no symbol, and no known beginning
 *	[unknown]                 outside of any file
 *	[libx.so+0x1200] libx.so+0x1234  with addresses: the place
 *	read libc.so.6+0x1234     the same, in text and of the user's alone
 *	read [inlined] file.c:12  with source lines; it was inlined into the next frame
 *	[cut: depth]              the stack is not whole
 *	[unverified: 32-bit program]  frames of the stack may be wrong or missing
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/render.h"
#include "symbolize/frame.h"

enum label_form {
	LABEL_TEXT,   /* a line: two blanks, the address where asked for, the label, newline */
	LABEL_FOLDED, /* the label */
};

struct label_style {
	bool offsets; /* in functions */
	bool places;  /* of what has no name; in text, of what of the user's has one, too */
	enum label_form form;
};

/* The label alone. */
void label_put(struct strbuf *to, const struct label_style *style, const struct frame *frame);

/* Labels of the frames that were asked for, by number. */
struct labels {
	const struct frame_table *frames;
	struct label_style style;
	struct strbuf text; /* all labels, one behind the other */
	struct label_place {
		size_t at;
		size_t n; /* 0: not made yet */
	} * places;
};

/* Keeps @frames, which are not to change meanwhile. */
void labels_init(struct labels *l, const struct frame_table *frames,
		 const struct render_style *style, enum label_form form);
void labels_fini(struct labels *l);

/* Frame @number's label, *@n bytes, no NUL. Lent by @l until the next call. */
const char *labels_get(struct labels *l, uint32_t number, size_t *n);

/* A process's name, or what stands for it when it has none. */
void label_put_comm(struct strbuf *to, const char *comm, enum label_form form);
