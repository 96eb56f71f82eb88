/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is given up cannot be had again, so each test has a process of its own. */
#include "test.h"

#include "unit/scratch.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "helper/calls.h"
#include "helper/sandbox.h"
#include "tool/privileges.h"

static int status_of(bool (*holds)(void))
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(!holds());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int other_thread; /* its number */
static pthread_barrier_t barrier;

static void *wait_twice(void *argument)
{
	other_thread = (int)syscall(SYS_gettid);
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_barrier_wait(&barrier);
	return argument;
}

static bool thread_has(int tid, const char *line)
{
	char path[64], text[8192];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);

	cleanup_fclose FILE *f = fopen(path, "re");
	const size_t length = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[length] = '\0';
	return strstr(text, line);
}

static bool both_have(const char *line)
{
	return thread_has(getpid(), line) && thread_has(other_thread, line);
}

static bool threads_are_sealed(void)
{
	pthread_t thread;

	(void)pthread_barrier_init(&barrier, NULL, 2);
	privileges_drop(false);
	if (pthread_create(&thread, NULL, wait_twice, NULL) != 0)
		return false;
	(void)pthread_barrier_wait(&barrier);
	privileges_seal(false);

	const bool holds = both_have("\nNoNewPrivs:\t1\n") && both_have("\nSeccomp:\t2\n") &&
			   both_have("\nCapInh:\t0000000000000000\n") &&
			   (geteuid() || both_have("\nCapBnd:\t0000000000000000\n")) &&
			   (geteuid() || !both_have("\nCapEff:\t0000000000000000\n"));

	(void)pthread_barrier_wait(&barrier);
	return pthread_join(thread, NULL) == 0 && holds;
}

TEST(all_threads_are_sealed)
{
	assert_int_equal(status_of(threads_are_sealed), 0);
}

static bool is_denied(long result)
{
	return result < 0 && errno == EPERM;
}

static bool calls_are_denied(void)
{
	privileges_drop(false);
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
	assert_int_equal(status_of(calls_are_denied), 0);
}

static bool executes(void)
{
	privileges_drop(false);
	privileges_seal(true);
	(void)execl("/bin/true", "true", NULL);
	return false;
}

TEST(a_program_is_executed_where_one_fetches)
{
	assert_int_equal(status_of(executes), 0);
}

static void *nothing(void *argument)
{
	return argument;
}

static bool threads_and_processes_can_be_made(void)
{
	pthread_t thread;
	int status = -1;

	privileges_drop(false);
	privileges_seal(false);

	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pthread_create(&thread, NULL, nothing, NULL) == 0 &&
	       pthread_join(thread, NULL) == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(threads_and_processes_can_still_be_made)
{
	assert_int_equal(status_of(threads_and_processes_can_be_made), 0);
}

TEST_MAIN(NULL, NULL)
