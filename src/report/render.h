/*
 * report/render.h - a report's bytes. No clock, no kernel: what is shown is passed in.
 *
 * Names come from foreign files: control characters and invalid UTF-8 are made
 * visible (\x1b); ';' and newlines are replaced by '_' in folded. A frame
 * without a name is "[unknown]", with -v followed by module+0xoffset, as are the user's
 * named frames in text.
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

/* Losses, by reason, in a fixed order; those of 0 are not shown. */
struct render_loss {
	const char *reason; /* "no room for a new stack" */
	uint64_t n;
};

/* A sink takes bytes as they are made; a non-zero result ends rendering and is returned. */
typedef int render_write(void *context, const char *bytes, size_t n);

/* Text as bcc lays it out, the leading empty line and the time included. */
int render_text(const struct report *r, const struct frame_table *frames,
		const struct render_style *style, render_write *write, void *context);

/*
 * One line per stack, outermost frame first; see render_folded.c for what a line
 * is made of. The time is not shown: it would be no line of this format.
 */
int render_folded(const struct report *r, const struct frame_table *frames,
		  const struct render_style *style, render_write *write, void *context);

/*
 * One line, its newline included, or nothing when nothing was lost:
 * "Lost 12 hits: 10 no room for a new stack, 2 nested too deep on one CPU".
 */
void render_losses(const struct render_loss *losses, size_t n, struct strbuf *to);
