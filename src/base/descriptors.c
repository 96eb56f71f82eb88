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

void descriptors_close_but(int *kept, size_t n)
{
	int fd = 0;

	qsort(kept, n, sizeof(*kept), compare_descriptors);
	for (size_t i = 0; i < n; i++) {
		while (fd < kept[i])
			(void)close(fd++);
		fd += fd == kept[i];
	}
	closefrom(fd);
}
