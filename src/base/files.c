// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

size_t files_hold(int *held, size_t n)
{
	size_t n_held = 0;

	while (n_held < n && (held[n_held] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n_held++;
	return n_held;
}

void files_release(const int *held, size_t n)
{
	while (n > 0)
		(void)close(held[--n]);
}

size_t files_free(size_t most)
{
	cleanup_free int *held = xcalloc(most, sizeof(*held));
	const size_t n = files_hold(held, most);

	files_release(held, n);
	return n;
}
