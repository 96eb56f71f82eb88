/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is given up cannot be had again, so the test has a process of its own. */
#include "test.h"

#include "unit/scratch.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "files/sandbox.h"
#include "tool/run.h"

static bool is_denied(long result)
{
	return result < 0 && errno == EPERM;
}

static bool calls_are_denied(void)
{
	privileges_keep(false);
	privileges_seal(false);
	return (!IS_SANITIZED || calls_deny(DENY_OTHERS, true)) &&
	       is_denied(ptrace(PTRACE_TRACEME, 0, NULL, NULL)) &&
	       is_denied(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)) &&
	       is_denied(unshare(0)) && is_denied(setns(-1, 0)) &&
	       is_denied(mount("", "", "", 0, NULL)) &&
	       is_denied(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) &&
	       is_denied(syscall(SYS_keyctl, 0, 0, 0, 0, 0)) &&
	       is_denied(syscall(SYS_init_module, NULL, 0, "")) &&
	       is_denied(syscall(SYS_io_uring_setup, 0, NULL)) &&
	       is_denied(execl("/bin/true", "true", NULL));
}

TEST(what_counting_does_not_need_is_denied)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(!calls_are_denied());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST_MAIN(NULL, NULL)
