// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/idle.h"

#include <stdlib.h>

/*
 * Files that stay come first: those used last. Among equals, those with a table stay, because a
 * table is costly. Then the older ones stay, or many new files would evict those that all processes
 * run.
 */
static int compare_idle(const void *left, const void *right)
{
	const struct idle *a = left, *b = right;

	if (a->turns != b->turns)
		return a->turns < b->turns ? -1 : 1;
	if (a->has_table != b->has_table)
		return a->has_table ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

size_t idle_choose(struct idle *files, size_t n, const struct idle_bounds *bounds, bool *stays)
{
	size_t n_kept = 0, n_keys = 0;

	qsort(files, n, sizeof(*files), compare_idle);
	for (; n_kept < n && n_kept < bounds->n_files && n_keys <= bounds->n_keys; n_kept++) {
		if (files[n_kept].turns >= bounds->n_turns)
			break;
		stays[files[n_kept].number] = true;
		n_keys += files[n_kept].n_keys;
	}
	return n_kept;
}
