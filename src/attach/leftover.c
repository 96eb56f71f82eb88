/*
 * The kernel closes the descriptors of a process as it exits, after having given back its
 * memory: so a process that just exits is all it takes. But whoever is the last to close a
 * descriptor pays for it. So it waits for the end of a pipe, which is closed when our own
 * copies are.
 */
#include "attach/leftover.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "attach/orphan.h"
#include "base/alloc.h"
#include "base/cleanup.h"

/* In the process left behind: wait until it is the last to hold them. */
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
	/* Quick, as ours are not the last. The pipe's end, after them, sets the child off. */
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return true;
}
