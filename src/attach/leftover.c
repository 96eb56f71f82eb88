// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel frees the memory of a process that exits, and then closes its descriptors. So a
 * process that just exits can do the waiting. The last process to close a descriptor waits for the
 * kernel. So this one waits for a pipe to end, which we close after our own copies.
 */
#include "attach/leftover.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "attach/orphan.h"
#include "base/alloc.h"
#include "base/cleanup.h"

/* In the other process: wait until it is the last to hold them. */
static void wait_to_be_last(void *data)
{
	char byte;

	(void)!read(*(const int *)data, &byte, 1);
}

bool leftover_leave(const int *fds, size_t n)
{
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return false;

	cleanup_close int reader = pipe_fds[0];
	cleanup_close int writer = pipe_fds[1];
	cleanup_free int *kept = xcalloc(n + 1, sizeof(*kept));

	memcpy(kept, fds, n * sizeof(*kept));
	kept[n] = reader;
	if (!orphan_start(kept, n + 1, wait_to_be_last, &reader, "detaching"))
		return false;
	/*
	 * This is quick, as ours are not the last. The pipe ends after them and starts the process.
	 */
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return true;
}
