/*
 * report/render_calls.h - counts of targets, as bytes. No clock, no kernel: what is shown is
 * passed in.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "report/render.h"

struct call_row {
	const char *name; /* as it is; escaped when it is shown */
	uint64_t count;
};

struct call_report {
	const struct call_row *rows; /* in the order in which they are shown */
	size_t n;
	uint64_t total;                   /* of all that was counted, shown or not */
	const struct render_loss *losses; /* JSON only; those of 0 are not shown */
	size_t n_losses;
	const char *time; /* text: "HH:MM:SS", or NULL */
	uint64_t time_ns; /* JSON: since 1970 */
	bool has_total;   /* text: a last row TOTAL; JSON always has it */
};

/*
 * Put rows in order, least frequent first (equal counts: by name); leave out those not hit, those
 * hit less than @min times and, if @top is not 0, all but the @top most frequent. Returns how
 * many are left, at the front.
 */
size_t call_rows_choose(struct call_row *rows, size_t n, uint64_t min, uint64_t top);

/* Both return 0, or what @write did. */
int render_calls_text(const struct call_report *r, render_write *write, void *context);
int render_calls_json(const struct call_report *r, render_write *write, void *context);
