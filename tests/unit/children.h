/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/children.h - processes that do nothing until they are ended. They die with the test.
 */
#pragma once

#include "test.h"

#include <sys/prctl.h>

/* Below @root (NULL: ours), as user @user, both since before this returns. */
static inline pid_t child_start_as(const char *root, uid_t user)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if ((root && (chroot(root) != 0 || chdir("/") != 0)) ||
		    (user != getuid() && setuid(user) != 0))
			_exit(1);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static inline pid_t child_start(void)
{
	return child_start_as(NULL, getuid());
}

static inline void child_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The number of a process that has gone. */
static inline pid_t child_gone(void)
{
	const pid_t pid = child_start();

	child_end(pid);
	return pid;
}
