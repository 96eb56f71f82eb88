/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/changes.h - the functions of two sides of a change, and which of them have changed by
 * more than noise. doc/notes/differences.md has the reasons.
 */
#pragma once

#include "profile/merge.h"

struct changed_value {
	int64_t after;
	int64_t before;       /* scaled if normalized */
	bool is_beyond_noise; /* a claim */
};

/* A function. */
struct change {
	const struct frame *frame;
	struct changed_value self;  /* hits with the function innermost */
	struct changed_value total; /* hits with the function anywhere in the stack */
};

struct changes {
	struct profile *of; /* the difference, whose frames are functions. Lends the rows' frames */
	struct change *rows; /* by the size of the change of self, then of total: largest first */
	size_t n;
	size_t n_after, n_before; /* slices of time that show the noise; 0: there are no claims */
};

/*
 * The caller frees the result. Pass profiles with all stacks: before profile_choose(). @sides and
 * @normalize are those of profile_difference().
 */
struct changes *changes_new(const struct profile_sides *sides, bool normalize);
struct changes *changes_of_difference(const struct profile *difference); /* without claims */
void changes_free(struct changes *c);
