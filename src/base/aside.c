// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wall time does not tell whether a process hangs: it may wait for a CPU on a busy machine, and
 * Ctrl-Z stops us all. A process hangs if it used no CPU time during several checks and is not
 * runnable. Even a slow disk lets it run for some microseconds between checks.
 */
#include "base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "base/read.h"

/* aside_end() waits for the end of the killed process, 0.1 s in all. */
#define FIRST_WAIT_US 50
#define LAST_WAIT_US 51200

/* -- In the process. -- */

bool aside_write(int channel, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		const ssize_t put = send(channel, at, n, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		at += put;
		n -= (size_t)put;
	}
	return true;
}

bool aside_pass(int channel, int fd)
{
	return packet_send(channel, "", 1, fd) == 0;
}

__attribute__((noreturn)) static void work_and_end(aside_work *work, void *argument, int channel,
						   int messages, pid_t parent)
{
	int none = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (none < 0) /* an empty root directory has no devices */
		none = fcntl(messages, F_DUPFD_CLOEXEC, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(none, STDIN_FILENO) < 0 || dup2(none, STDOUT_FILENO) < 0 ||
	    dup2(messages, STDERR_FILENO) < 0)
		_exit(1);
	(void)close(none);
	(void)close(messages);
	work(argument, channel);
	_exit(0);
}

/* -- Its maker. -- */

static uint64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

int aside_start(struct aside *a, unsigned most_still, aside_work *work, void *argument,
		struct error *e)
{
	const pid_t parent = getpid();
	int pair[2], pipe_fds[2];

	*a = ASIDE_NONE;
	a->most_still = most_still;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(e, "make a socket");
	a->channel = pair[0];

	cleanup_close int its_channel = pair[1];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_errno(e, "make a pipe");
	a->messages = pipe_fds[0];

	cleanup_close int its_messages = pipe_fds[1];

	a->pid = fork();
	if (a->pid == 0) {
		cleanup_close_fd(&a->channel);
		cleanup_close_fd(&a->messages);
		work_and_end(work, argument, its_channel, its_messages, parent);
	}
	if (a->pid < 0) {
		a->pid = 0;
		return error_set(e, -errno, "make a process: %s", error_start_words(-errno));
	}
	return 0;
}

/* Does the process hang, after ASIDE_LOOK_MS in which it has sent nothing? */
static bool is_hanging(struct aside *a)
{
	const uint64_t cpu_ns = cpu_ns_of(a->pid);

	a->n_still = cpu_ns == a->cpu_ns && process_state(a->pid) != 'R' ? a->n_still + 1 : 0;
	a->cpu_ns = cpu_ns;
	return a->n_still >= a->most_still;
}

static void copy_messages(struct aside *a)
{
	char text[4096];
	const ssize_t n = read(a->messages, text, sizeof(text));

	if (n > 0)
		(void)fwrite(text, 1, (size_t)n, stderr);
	else if (n == 0)
		cleanup_close_fd(&a->messages);
}

/* Wait until there is something to receive, or the channel is closed. False: the process hangs. */
static bool wait_for_input(struct aside *a)
{
	for (;;) {
		struct pollfd all[] = { { .fd = a->channel, .events = POLLIN },
					{ .fd = a->messages, .events = POLLIN } };
		const int n = poll(all, 2, ASIDE_LOOK_MS);

		if (n == 0 && is_hanging(a))
			return false;
		if (n > 0 && all[1].revents) {
			copy_messages(a);
		} else if (n > 0) {
			a->n_still = 0;
			return true;
		}
	}
}

/* A descriptor that comes with the bytes is closed. */
int aside_read(struct aside *a, void *to, size_t n)
{
	for (char *at = to; n;) {
		if (!wait_for_input(a))
			return -ETIMEDOUT;

		const ssize_t got = recv(a->channel, at, n, MSG_DONTWAIT);

		if (got <= 0)
			return -EPIPE;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int aside_take(struct aside *a, int *ret_fd)
{
	char byte;

	if (!wait_for_input(a))
		return -ETIMEDOUT;
	if (packet_receive(a->channel, &byte, 1, ret_fd))
		return -EPIPE;
	return *ret_fd < 0 ? -EMFILE : 0;
}

int aside_explain(int code, const char *name, struct error *e)
{
	return error_set(
		e, code, "%s: %s", name,
		code == -ETIMEDOUT ? "its file system does not answer"
		: code == -EPIPE
			? "the process that reads it has ended; maybe it took too much CPU time"
			: error_words(code));
}

void aside_end(struct aside *a)
{
	if (a->pid)
		(void)kill(a->pid, SIGKILL);
	cleanup_close_fd(&a->channel);
	for (unsigned us = FIRST_WAIT_US; a->pid && us <= LAST_WAIT_US; us *= 2) {
		if (waitpid(a->pid, NULL, WNOHANG) != 0)
			break;
		(void)usleep(us);
	}
	while (a->messages >= 0 && poll(&(struct pollfd){ a->messages, POLLIN, 0 }, 1, 0) > 0)
		copy_messages(a);
	cleanup_close_fd(&a->messages);
	a->pid = 0;
}
