/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/render_calls.h - funccount's report: counts of targets, as bytes. Pure: no clock, no
 * kernel. render_calls.c has samples.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "report/render.h"

struct call_row {
	const char *name; /* borrowed; rendering escapes it */
	uint64_t count;
};

struct call_report {
	const struct call_row *rows; /* in the order of the output */
	size_t n;
	uint64_t total;                    /* all counts, including those without a row here */
	const struct profile_loss *losses; /* those of 0 are left out */
	size_t n_losses;
	const char *time; /* for text: "HH:MM:SS", or NULL */
	uint64_t time_ns; /* for JSON: ns since 1970 */
	bool has_total;   /* text ends in a row TOTAL; JSON always has the total */
};

/*
 * Sort rows, least frequent first, equal counts by name. Drop those with no hit, those with fewer
 * than @min hits and, if @top is not 0, all but the @top most frequent. Returns the number of
 * remaining rows, which are at the front.
 */
size_t call_rows_choose(struct call_row *rows, size_t n, uint64_t min, uint64_t top);

/* Both return 0, or the first non-zero result of @write. */
int render_calls_text(const struct call_report *r, render_write *write, void *context);
int render_calls_json(const struct call_report *r, render_write *write, void *context);
