/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/changes.h - the functions of two sides of a change, and which of them have changed by
 * more than noise. doc/notes/differences.md has the reasons.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* The source of our knowledge about noise. */
enum changes_basis {
	CHANGES_NO_DATA, /* nothing, so there are no claims */
	CHANGES_SLICES,  /* at least 20 slices of time of each side */
	CHANGES_FILES,   /* at least three profiles of each side */
	CHANGES_SAMPLES, /* hits are samples, which are at least as variable as a Poisson process */
};

struct changed_value {
	int64_t after;
	int64_t before;       /* scaled if normalized */
	double probability;   /* of such a change by noise alone; 1 if not compared */
	bool is_beyond_noise; /* a claim */
};

/* A function. */
struct change {
	uint32_t frame;             /* in changes.frames */
	struct changed_value self;  /* hits with the function innermost */
	struct changed_value total; /* hits with the function anywhere in the stack */
};

struct changes {
	struct frame_table frames; /* equal by name, module and kind */
	struct change *rows; /* by the size of the change of self, then of total: largest first */
	size_t n;
	enum changes_basis basis;
	size_t n_after, n_before; /* slices or profiles */
	size_t n_compared;        /* values that noise was taken into account for */
	double alpha;             /* the chance of one or more wrong claims is at most this */
	bool is_normalized;
	struct strtab *strings; /* of frames */
};

/* Profiles of one side. */
struct changes_side {
	const struct profile *const *of;
	size_t n;
};

/*
 * The caller frees the result. Pass profiles with all stacks: before profile_choose(). If one is a
 * difference, its values after the change are taken.
 *
 * With @normalize, values before the change are scaled to equal sums, and claims are about shares
 * of all hits. Otherwise they are about rates: hits for each second.
 */
struct changes *changes_new(const struct changes_side *after, const struct changes_side *before,
			    bool normalize);

/* Of a difference alone: no claims. */
struct changes *changes_of_difference(const struct profile *difference);

void changes_free(struct changes *c);
void changes_freep(struct changes **c);
