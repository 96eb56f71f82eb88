/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/row_profile.h - from rows of the store to a profile: names their frames, merges equal ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "bpf/abi.h"
#include "profile/profile.h"
#include "store/store.h"
#include "symbolize/symbolize.h"
#include "tool/run.h"
#include "tool/slices.h"

/* All pointers are lent. */
struct row_profile {
	struct store *store;
	struct symbolizer *symbolizer;
	uint64_t max_depth; /* frames of each stack, 0: all */
	bool has_pids;      /* processes with different numbers are different stacks */
	bool has_comms;     /* ... different names ... */
	/* The first value is this one, and the second one is the hits. NULL: there are hits alone.
	 */
	const struct profile_value *sum;
	uint64_t *cuts; /* CUTS counts of hits, by stack_cut(): the rows' hits are added */
	void (*serve)(void *context); /* called often */
	void *context;
};
#define CUTS (STACK_MARK_CUT_BITS + 1)

/* The profile of @n @rows; the caller frees it. @slices: their slices, or NULL. */
struct profile *row_profile_make(const struct row_profile *t, const struct store_row *rows,
				 size_t n, const struct slices *slices);

/* Add @losses, by reason; with @before those of earlier reports, too. */
void row_profile_add_losses(struct profile *p, const struct named_losses *losses,
			    const uint64_t *before);

/*
 * If more than 1 % of the hits have a stack that is cut, write how many, the most frequent reason,
 * and what to do. @is_bounded: the user wants no more depth.
 */
void row_profile_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to);
