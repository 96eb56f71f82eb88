// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

size_t descriptors_hold(int *held, size_t n)
{
	size_t n_held = 0;

	while (n_held < n && (held[n_held] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n_held++;
	return n_held;
}

void descriptors_release(const int *held, size_t n)
{
	while (n > 0)
		(void)close(held[--n]);
}

static int compare_descriptors(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* Some containers refuse close_range(2). */
static void close_range_of(unsigned from, unsigned to)
{
	if (close_range(from, to, 0) == 0)
		return;
	for (unsigned fd = from; fd <= to; fd++)
		(void)close((int)fd);
}

void descriptors_close_but(int *kept, size_t n)
{
	unsigned from = 0;

	qsort(kept, n, sizeof(*kept), compare_descriptors);
	for (size_t i = 0; i < n; i++) {
		if (kept[i] < 0)
			continue;
		if ((unsigned)kept[i] > from)
			close_range_of(from, (unsigned)kept[i] - 1);
		from = (unsigned)kept[i] + 1;
	}
	closefrom((int)from);
}
