// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/past.h"

#include <stdlib.h>

#include "base/alloc.h"

#define IN_HULL 32UL /* regions, or hulls of the level below */

void past_fini(struct spaces *all, struct past *p)
{
	regions_fini(all, &p->regions);
	for (size_t level = 0; level < PAST_LEVELS; level++) {
		all->bytes -= p->capacities[level] * sizeof(*p->hulls[level]);
		free(p->hulls[level]);
	}
}

/* --- hulls --- */

static void make_room_for_hulls(struct spaces *all, struct past *p, size_t level, size_t n)
{
	const size_t before = p->capacities[level];

	while (n > p->capacities[level])
		p->capacities[level] = p->capacities[level] ? 2 * p->capacities[level] : 4;
	if (p->capacities[level] == before)
		return;
	p->hulls[level] =
		xreallocarray(p->hulls[level], p->capacities[level], sizeof(*p->hulls[level]));
	all->bytes += (p->capacities[level] - before) * sizeof(*p->hulls[level]);
}

/* A region, or a hull of the level below, as a hull. */
static struct region_hull part_of_hull(const struct past *p, size_t level, size_t i)
{
	const struct region *r = &p->regions.list[i];

	return level ? p->hulls[level - 1][i] : (struct region_hull){ r->start, r->end, r->from };
}

/* The regions from @first on are new. */
static void renew_hulls(struct spaces *all, struct past *p, size_t first)
{
	size_t n = p->regions.n; /* regions, or hulls of the level below */

	for (size_t level = 0; level < PAST_LEVELS; level++) {
		const size_t n_hulls = (n + IN_HULL - 1) / IN_HULL;

		first /= IN_HULL;
		make_room_for_hulls(all, p, level, n_hulls);
		for (size_t i = first; i < n_hulls; i++) {
			struct region_hull hull = { UINT64_MAX, 0, UINT64_MAX };

			for (size_t k = i * IN_HULL; k < (i + 1) * IN_HULL && k < n; k++) {
				const struct region_hull part = part_of_hull(p, level, k);

				hull.start = part.start < hull.start ? part.start : hull.start;
				hull.end = part.end > hull.end ? part.end : hull.end;
				hull.from = part.from < hull.from ? part.from : hull.from;
			}
			p->hulls[level][i] = hull;
		}
		n = n_hulls;
	}
}

/* May one of its regions cover @addr at @time, if it has not ended before? */
static bool may_hull_cover(const struct region_hull *hull, uint64_t addr, uint64_t time)
{
	return addr >= hull->start && addr < hull->end && hull->from <= time;
}

/* --- changes --- */

/* Records may come late, so @region may have ended before others in the list. */
void past_add(struct spaces *all, struct past *p, const struct region *region)
{
	size_t at = p->regions.n;

	while (at && p->regions.list[at - 1].until > region->until)
		at--;
	regions_splice(all, &p->regions, at, 0, region, 1);
	renew_hulls(all, p, at);
}

void past_copy(struct spaces *all, struct past *p, const struct past *from)
{
	regions_splice(all, &p->regions, 0, 0, from->regions.list, from->regions.n);
	renew_hulls(all, p, 0);
}

void past_forget(struct spaces *all, struct past *p, size_t n)
{
	regions_splice(all, &p->regions, 0, n, NULL, 0);
	renew_hulls(all, p, 0);
}

void past_forget_first(struct spaces *all, struct past *p)
{
	regions_forget_first(all, &p->regions);
	renew_hulls(all, p, 0);
}

/* --- questions --- */

size_t past_count(const struct past *p, uint64_t time)
{
	size_t low = 0, high = p->regions.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->regions.list[middle].until > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct region *past_at(const struct past *p, uint64_t addr, uint64_t time)
{
	for (size_t i = past_count(p, time); i < p->regions.n;) {
		const struct region *r = &p->regions.list[i];
		const size_t in_hull = i / IN_HULL;

		if (i % (IN_HULL * IN_HULL) == 0 &&
		    !may_hull_cover(&p->hulls[1][in_hull / IN_HULL], addr, time))
			i += IN_HULL * IN_HULL;
		else if (i % IN_HULL == 0 && !may_hull_cover(&p->hulls[0][in_hull], addr, time))
			i += IN_HULL;
		else if (addr >= r->start && addr < r->end && r->from <= time)
			return r;
		else
			i++;
	}
	return NULL;
}
