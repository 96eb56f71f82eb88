/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/progress.h - a line on the terminal while a run counts, rewritten once a second:
 *
 *	12 s, 3456789 hits, 280000/s, 312 rows, 0 lost
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool is_on;
	bool is_shown;
	uint64_t begin_ns, due_ns; /* CLOCK_MONOTONIC */
	uint64_t last_ns, last_hits;
};

struct progress_numbers {
	uint64_t hits, lost; /* since the run began */
	uint64_t rows;       /* stacks; equal ones of two processes are two */
};

/* Begin at @now, if standard error is a terminal, unless @is_quiet. */
void progress_begin(struct progress *p, uint64_t now, bool is_quiet);

/* The longest sleep until the line is due, in ms; -1: there is none. */
int progress_patience_ms(const struct progress *p, uint64_t now);
bool progress_is_due(const struct progress *p, uint64_t now);

void progress_show(struct progress *p, uint64_t now, const struct progress_numbers *numbers);

#define PROGRESS_SIZE 160

/* Make the line, and begin the next second. It may have more than @room columns: cut it then. */
void progress_put(struct progress *p, uint64_t now, const struct progress_numbers *numbers,
		  int room, char line[PROGRESS_SIZE]);

/* Show @text in place of the line. */
void progress_say(struct progress *p, const char *text);

/* Remove the line, before anything else is printed. */
void progress_clear(struct progress *p);

/* Remove it for good. */
void progress_end(struct progress *p);
