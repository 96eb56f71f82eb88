// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/orphan.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/files.h"

struct orphan {
	const char *name;
	int told; /* the pipe for its PID */
};

static void become_independent(int *keep, size_t n, const char *name)
{
	setsid();
	prctl(PR_SET_NAME, name);
	/* The caller's pipes, too: their readers must not wait for this process. */
	files_close_but(keep, n);
}

/* In the child: make the process and write its PID to the pipe. Returns the child's exit status. */
static int fork_grandchild(int *keep, size_t n, void (*run)(void *data), void *data,
			   const struct orphan *o)
{
	pid_t grandchild = fork();

	if (grandchild == 0) {
		become_independent(keep, n, o->name);
		run(data);
		_exit(0);
	}
	return grandchild < 0 ||
	       write(o->told, &grandchild, sizeof(grandchild)) != sizeof(grandchild);
}

pid_t orphan_start(const int *keep, size_t n, void (*run)(void *data), void *data, const char *name)
{
	cleanup_free int *own = xcalloc(n, sizeof(*own));
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return 0;

	cleanup_close int reader = pipe_fds[0];
	cleanup_close int writer = pipe_fds[1];

	memcpy(own, keep, n * sizeof(*own));

	/* Ctrl-C goes to the whole group, so block signals until the process has left it. */
	sigset_t all, before;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);

	/* Fork twice, so that the process becomes nobody's zombie. */
	pid_t child = fork();
	if (child == 0)
		_exit(fork_grandchild(own, n, run, data, &(struct orphan){ name, writer }));
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);

	int status = 1;
	pid_t orphan = 0;

	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return 0;
	return read(reader, &orphan, sizeof(orphan)) == sizeof(orphan) ? orphan : 0;
}
