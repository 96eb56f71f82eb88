/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/past.h - the regions that a space had, by rising end.
 *
 * A program that loads one file after the other has 100,000 of them, and each address of its stacks
 * is looked for here first. Most of these addresses lie in files that are still there, so no past
 * region has them. Hence each 32 regions have a hull, and so have each 32 hulls.
 */
#pragma once

#include "processes/regions.h"

/* The bounds of some regions. */
struct region_hull {
	uint64_t start, end, from;
};

#define PAST_LEVELS 2

struct past {
	struct regions regions;
	struct region_hull *hulls[PAST_LEVELS];
	size_t capacities[PAST_LEVELS];
};

void past_fini(struct spaces *all, struct past *p);

/* Add @region, which has ended. */
void past_add(struct spaces *all, struct past *p, const struct region *region);

/* Make @p, which is empty, a copy of @from. */
void past_copy(struct spaces *all, struct past *p, const struct past *from);

/* Forget the @n regions that ended first. */
void past_forget(struct spaces *all, struct past *p, size_t n);

/* regions_forget_first() */
void past_forget_first(struct spaces *all, struct past *p);

/* The number of regions that had ended by @time. They come first. */
size_t past_count(const struct past *p, uint64_t time);

/* Of the regions that cover @addr at @time, the one that ended first. NULL: there is none. */
const struct region *past_at(const struct past *p, uint64_t addr, uint64_t time);
