// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "unwind/program.h"

static int compare_fdes(const void *left, const void *right)
{
	const struct cfi_fde *a = left;
	const struct cfi_fde *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->cie != b->cie)
		return a->cie < b->cie ? -1 : 1;
	return a->program < b->program ? -1 : a->program > b->program;
}

/* Move entry @at to its place among those before it, which are sorted. */
static void sort_fde_in(struct cfi_fde *fdes, size_t at)
{
	const struct cfi_fde fde = fdes[at];
	size_t low = 0, high = at;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare_fdes(&fdes[middle], &fde) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	memmove(&fdes[low + 1], &fdes[low], (at - low) * sizeof(fde));
	fdes[low] = fde;
}

#define MOST_SORTED_IN 16 /* more of these moves cost more than qsort() */

void cfi_sort(struct cfi_fde *fdes, size_t n)
{
	size_t n_sorted_in = 0;

	for (size_t i = 1; i < n; i++) {
		if (compare_fdes(&fdes[i - 1], &fdes[i]) <= 0)
			continue;
		if (n_sorted_in++ == MOST_SORTED_IN) {
			qsort(fdes, n, sizeof(*fdes), compare_fdes);
			return;
		}
		sort_fde_in(fdes, i);
	}
}
