#include "attach/orphan.h"

#include <signal.h>
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

static void be_alone(const int *keep, size_t n, const char *name)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
	/* The caller's pipes too: whoever waits for their end must not wait for this. */
	close_others(keep, n);
}

bool orphan_start(const int *keep, size_t n, void (*run)(void *data), void *data, const char *name)
{
	cleanup_free int *sorted = xcalloc(n, sizeof(*sorted));

	memcpy(sorted, keep, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_fds);

	/* Twice, so that it is nobody's zombie. */
	pid_t child = fork();
	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			be_alone(sorted, n, name);
			run(data);
			_exit(0);
		}
		_exit(grandchild < 0);
	}

	int status = 1;
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
