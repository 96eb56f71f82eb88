/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/label.h - the label of a frame: its text in reports, made once for each frame. label.c has
 * samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/frame.h"
#include "report/render.h"

enum label_form {
	LABEL_TEXT, /* labels_put() gives a line: two blanks, with places the address, the label */
	LABEL_FOLDED, /* labels_put() gives the label */
	LABEL_TREE,   /* likewise; a ';' stays */
};

struct label_style {
	bool offsets; /* add offsets in functions */
	bool places;  /* add places to frames without a name; in LABEL_TEXT, also to named user
			 frames */
	enum label_form form;
};

/* Append the address in a column that is empty for a mark. */
void label_put_address(struct strbuf *to, const struct frame *frame);

/* Append the label alone. */
void label_put(struct strbuf *to, const struct label_style *style, const struct frame *frame);

/* The labels of a table's frames, by number, each made at the first labels_put(). */
struct labels {
	const struct frame_table *frames;
	struct label_style style;
	struct strbuf text; /* all labels so far */
	struct label_place {
		size_t at;
		size_t n; /* 0: not made yet */
	} * places;
};

/* Keeps @frames, which must not change before labels_fini(). */
void labels_init(struct labels *l, const struct frame_table *frames,
		 const struct render_style *style, enum label_form form);
void labels_fini(struct labels *l);

/* Append the label of frame @number. */
void labels_put(struct strbuf *to, struct labels *l, uint32_t number);

/* Append the name of a process, or "[unknown]" if @comm is NULL or empty. */
void label_put_comm(struct strbuf *to, const char *comm, enum label_form form);
