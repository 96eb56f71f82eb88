/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/profile.h - the result of a run as a value: stacks with their counts, their frames, and
 * the losses. It owns all that it has, and needs no live process, descriptor or kernel.
 * profile/builder.h makes it; renderers (report/render.h) turn it into bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/frame.h"

/* A stack with its count. Frame numbers are innermost first, kernel frames before user frames. */
struct profile_stack {
	uint64_t count;
	const uint32_t *frames; /* @n_kernel, then @n_user of them */
	uint32_t n_kernel;
	uint32_t n_user;
	uint32_t pid;     /* 0 unless per process; 0 with @comm: per name of processes */
	const char *comm; /* NULL unless per process, or not known */
};

/* The losses of one reason. */
struct profile_loss {
	const char *reason; /* "no room for a new stack". A constant, not owned */
	uint64_t n;
};

/* Frame numbers of stacks, in blocks that do not move. */
struct profile_block {
	uint32_t *frames;
	size_t n;
};

struct profile {
	struct frame_table frames; /* each is in a stack */
	struct profile_stack *stacks;
	size_t n_stacks;
	struct profile_loss *losses; /* in a fixed order, with n above 0 */
	size_t n_losses;
	uint64_t total;  /* sum of all counts */
	uint64_t hidden; /* of these, the counts of stacks that profile_choose() has removed */
	size_t n_hidden; /* number of these stacks */

	/* Memory of the members above. */
	struct profile_block *blocks;
	size_t n_blocks;
	struct strtab *strings;
};

void profile_free(struct profile *p);
void profile_freep(struct profile **p);

/*
 * Sort stacks, least frequent first, equal counts in their former order. Remove those with a count
 * below @min and, if @top is not 0, all but the @top most frequent.
 */
void profile_choose(struct profile *p, uint64_t min, size_t top);

/* Add a loss of @n hits. Nothing happens if @n is 0. */
void profile_add_loss(struct profile *p, const char *reason, uint64_t n);
