// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Close probes. Before it releases a probe, Linux waits until no CPU can be in it, one probe at a
 * time. On 6.18, a link of these takes:
 *
 *	kprobe, tracepoint     70 ms, more than half of it with event_mutex held
 *	uprobe                110 ms
 *	many places (multi)    one wait for all
 *
 * So 2,153 uprobes take minutes. The wait is in the process that closes a descriptor last, and no
 * signal ends it there. The kernel also closes what a process has when that exits, after it has
 * freed its memory. So the last one to hold the links is a process that does nothing but exit.
 *
 * Not chosen: closing with many threads. Kernels such as 6.1 and 6.12 wait with bpf_event_mutex
 * held, and all close perf events one after the other.
 *
 * Not chosen: faster grace periods (/sys/kernel/rcu_expedited). A link takes little less (Tasks
 * Trace RCU). It is a setting of the whole system, and would stay if we were killed.
 */
#include "attach/backend.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/log.h"

#define MOST_MS 600 /* to wait for the kernel */

/* In the process: exit when it is the last to hold the @n - 1 links in front of the pipe. */
__attribute__((noreturn)) static void hold_links(int *kept, size_t n)
{
	const int may_exit = kept[n - 1];
	char byte;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "detaching");
	descriptors_close_but(kept, n);
	(void)!read(may_exit, &byte, 1);
	_exit(0);
}

/* Returns the process, which may exit when *@ret_may_exit is closed; -1: there is none. */
static pid_t start_last_holder(const int *links, size_t n, int *ret_may_exit)
{
	cleanup_free int *kept = xcalloc(n + 1, sizeof(*kept));
	sigset_t all, before;
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -1;

	cleanup_close int reader = pipe_fds[0];
	cleanup_close int writer = pipe_fds[1];

	memcpy(kept, links, n * sizeof(*kept));
	kept[n] = reader;
	/* Ctrl-C goes to the whole group, so no signal comes until the process has left it. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		hold_links(kept, n + 1);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid > 0)
		*ret_may_exit = TAKE_FD(writer);
	return pid;
}

/* waitpid() tells of a process after the kernel has closed what that held. */
static bool wait_for_end(pid_t holder)
{
	for (int ms = 0; ms < MOST_MS; ms++) {
		if (waitpid(holder, NULL, WNOHANG) != 0)
			return true;
		(void)usleep(1000);
	}
	return false;
}

void detach_links(const int *links, size_t n)
{
	int may_exit = -1;
	const pid_t holder = n ? start_last_holder(links, n, &may_exit) : -1;

	for (size_t i = 0; i < n; i++)
		close(links[i]);
	if (holder < 0)
		return;
	close(may_exit);
	if (!wait_for_end(holder))
		log_warn("%zu probes no longer count, but the kernel is still removing them", n);
}
