/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/render.h - the bytes of a report. Pure: no clock, no kernel.
 *
 * Frames become labels (label.h). Names come from foreign files, so they are escaped
 * (escape.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/report.h"
#include "symbolize/frame.h"

struct render_style {
	bool offsets;     /* -s */
	bool addresses;   /* -v */
	bool delimited;   /* -d */
	bool per_process; /* -P */
	const char *time; /* -T: "HH:MM:SS", else NULL */
};

/* The losses of one reason. Reasons keep a fixed order; renderers leave out those of 0. */
struct render_loss {
	const char *reason; /* "no room for a new stack" */
	uint64_t n;
};

/* Takes bytes as they are made. A non-zero result ends rendering, which returns it. */
typedef int render_write(void *context, const char *bytes, size_t n);

/* Text in bcc's layout, with its empty line and the time in front: see render_text.c. */
int render_text(const struct report *r, const struct frame_table *frames,
		const struct render_style *style, render_write *write, void *context);

/*
 * One line per stack, outermost frame first: see render_folded.c. Leaves out the time,
 * which would be no line of this format.
 */
int render_folded(const struct report *r, const struct frame_table *frames,
		  const struct render_style *style, render_write *write, void *context);

/*
 * Append one line with its newline, or nothing if nothing was lost. A sample:
 *
 *	Lost 12 hits: 10 no room for a new stack, 2 nested too deep on one CPU
 */
void render_losses(const struct render_loss *losses, size_t n, struct strbuf *to);
