/*
 * The kernel closes the descriptors of a process as it exits, after having given back its
 * memory: so a process that just exits is all it takes. But whoever is the last to close a
 * descriptor pays for it. So it waits for the end of a pipe, which is closed when our own
 * copies are.
 */
#include "attach/leftover.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static int compare_fds(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* Close every descriptor but the @n at @keep, which are ascending. */
static void close_others(const int *keep, size_t n)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* The child: let go of everything else, wait until it is the last to hold them, end. */
static void hold_and_end(const int *kept, size_t n, int signal_fd)
{
	char byte;

	setsid();
	prctl(PR_SET_NAME, "detaching");
	/* The caller's pipes too: whoever waits for their end must not wait for this. */
	close_others(kept, n);
	(void)!read(signal_fd, &byte, 1);
	_exit(0);
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
	qsort(kept, n + 1, sizeof(*kept), compare_fds);

	/* Twice, so that it is nobody's zombie. */
	pid_t child = fork();
	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0)
			hold_and_end(kept, n + 1, reader);
		_exit(grandchild < 0);
	}

	int status = 1;
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return false;
	/* Quick, as ours are not the last. The pipe's end, after them, sets the child off. */
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return true;
}
