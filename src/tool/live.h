/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/live.h - what a run shows on the terminal while it counts: a text on the whole terminal of
 * standard output, drawn anew (--live), or a line on standard error, rewritten once a second:
 *
 *	12 s, 3456789 hits, 280000/s, 312 rows, 0 lost
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tool/output.h"

/* --- the line of progress --- */

struct progress {
	bool is_on;
	bool is_shown;
	uint64_t begin_ns; /* CLOCK_MONOTONIC, as all times here */
	uint64_t due_ns;   /* when the line is to be shown; UINT64_MAX: never */
	uint64_t last_ns, last_hits;
};

struct progress_numbers {
	uint64_t hits, lost; /* since the run began */
	uint64_t rows;       /* stacks; equal ones of two processes are two */
};

/* Begin at @now, if standard error is a terminal, unless @is_quiet. */
void progress_begin(struct progress *p, uint64_t now, bool is_quiet);

void progress_show(struct progress *p, uint64_t now, const struct progress_numbers *numbers);

#define PROGRESS_SIZE 160

/* Make the line. It may have more than @room columns: cut it then. */
void progress_put(struct progress *p, uint64_t now, const struct progress_numbers *numbers,
		  int room, char line[PROGRESS_SIZE]);

/* Show @text in place of the line. */
void progress_say(struct progress *p, const char *text);

/* Remove the line, before anything else is printed. log_begin_with("") ends it for good. */
void progress_clear(struct progress *p);

/* --- --live --- */

/*
 * Can standard output show pictures? Errors: -ENOTTY  it is no terminal
 *                                            -EINVAL  $TERM says that it cannot move the cursor
 */
must_check int live_check(struct error *e);

/*
 * Append a picture that replaces a screen of @columns and @lines. Each line of @text ends in '\n',
 * and is escaped already. It may have colours ("\x1b[..m"), which take no room. Lines are cut at
 * the width. If there are too many, the last line of the picture tells how many are not shown.
 */
void live_put(struct strbuf *to, const char *text, size_t columns, size_t lines);

/* 80 columns and 24 lines if it is not known. */
struct winsize live_size(void);

/*
 * Draw @text with the size that the terminal has now. "" erases the last picture. Errors: those of
 * output_put().
 */
must_check int live_draw(struct output *o, const char *text, struct error *e);
