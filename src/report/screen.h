/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/screen.h - a report as a picture for a whole terminal. Pure: no clock, no terminal.
 *
 *	t:sched:sched_switch   0:42   1,204,331 hits (28,663/s)   512 rows   lost 0
 *	<lines of the tree, cut to the width>
 *	 q quit  i invert  v total/interval  +/- less/more  space pause  arrows scroll
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct screen_size {
	size_t columns, lines; /* at least 1 of each */
};

/* The numbers of the first line. The progress line on standard error shows them, too. */
struct screen_head {
	const char *what; /* the patterns; foreign text, escaped here */
	uint64_t elapsed_ns;
	uint64_t hits;
	double hits_per_s; /* lately */
	uint64_t rows;     /* stacks; equal ones of two processes are two */
	uint64_t lost;
	bool is_paused;
	const char *message; /* the last one, up to its newline, escaped already; NULL: none */
	size_t n_messages;   /* so far */
};

/* Append the first line without its end, at most @columns wide. The pattern leaves room to the
 * numbers. */
void screen_put_head(struct strbuf *to, const struct screen_head *head, size_t columns);

/*
 * Append a picture that replaces the whole screen. It has the head, @text from its line number
 * @first on, the head's message if there is one, and the keys. @text has one line for each '\n',
 * and is escaped already. It may have colours ("\x1b[..m"), which take no room. A line that is too
 * long ends in "…" (">" if @is_ascii). If @first would leave lines of the screen empty below the
 * end of @text, it is a smaller one. Returns the number of the line at the top.
 */
size_t screen_put(struct strbuf *to, const struct screen_head *head, const char *text, size_t first,
		  const struct screen_size *size, bool is_ascii);
