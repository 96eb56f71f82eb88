/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/slices.h - slices of a run's time: how often each row of the store was hit in each of them.
 *
 * How long a run takes is not known while it lasts. So slices begin short. When there are
 * MOST_SLICES, neighbours become one, and later slices are twice as long. A run of a second or more
 * has at least half of MOST_SLICES at its end, unless they need too much memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "store/store.h"

#define MOST_SLICES 64
#define FIRST_SLICE_NS 15000000ULL

/* The numbers of a row at the end of a slice. */
struct row_values {
	uint64_t count;
	int64_t sum;
};

/* A zeroed struct is empty. */
struct slices {
	bool is_growing;   /* by time; else by the intervals of -i */
	bool of_sums;      /* parts are of the rows' sums; else of their hits */
	uint64_t begin_ns; /* of the run, CLOCK_MONOTONIC; 0: it has not begun */
	uint64_t length_ns;
	uint64_t due_ns;   /* the end of the present slice; UINT64_MAX: not by time */
	size_t most_bytes; /* of parts */
	struct profile_slice *slices;
	size_t n, capacity;
	struct profile_part *parts; /* by row: its number in the store stands for the stack's */
	size_t n_parts, part_capacity;
	struct row_values *counted; /* by row: up to the end of the last slice */
	size_t n_counted, counted_capacity;
};

/* Begin at @now. Set is_growing, of_sums and most_bytes before. */
void slices_begin(struct slices *s, uint64_t now);
void slices_fini(struct slices *s);

/*
 * A slice ends at @now. @rows are all of the run. Those of earlier calls have the same numbers.
 * Returns how many rows were hit in the slice. These, with its hits alone, go to @last, which has
 * room for @n, or is NULL.
 */
size_t slices_end_one(struct slices *s, const struct store_row *rows, size_t n, uint64_t now,
		      struct store_row *last);

/* Add slices and parts to @b. @stacks: by row, its stack's number there. */
void slices_put(const struct slices *s, struct profile_builder *b, const uint32_t *stacks);
