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
#include "base/memory.h"
#include "base/read.h"

/* aside_end() waits for the end of the killed process, 0.1 s in all. */
#define FIRST_WAIT_US 50
#define LAST_WAIT_US 51200

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* -- In the process. -- */

void aside_close_others(int *channel)
{
	const int own = STDERR_FILENO + 1;

	if (*channel != own && dup2(*channel, own) < 0)
		_exit(1);
	*channel = own;
	closefrom(own + 1);
}

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
	union control control = {};
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	return sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
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

int aside_start(struct aside *a, const struct aside_bounds *bounds, aside_work *work,
		void *argument, struct error *e)
{
	const pid_t parent = getpid();
	int pair[2], pipe_fds[2];

	*a = ASIDE_NONE;
	a->bounds = *bounds;
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

void aside_begin(struct aside *a)
{
	a->since_ns = cpu_ns_of(a->pid);
}

/* Check the process after ASIDE_LOOK_MS in which it has sent nothing. */
static int check_if_hanging(struct aside *a)
{
	const uint64_t cpu_ns = cpu_ns_of(a->pid);

	if (a->bounds.cpu_ns && cpu_ns - a->since_ns > a->bounds.cpu_ns)
		return -ETIME;
	a->n_still = cpu_ns == a->cpu_ns ? a->n_still + 1 : 0;
	a->cpu_ns = cpu_ns;
	if (a->n_still < a->bounds.looks)
		return 0;
	if (process_state(a->pid) != 'R')
		return -ETIMEDOUT;
	a->n_still = 0;
	return 0;
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

/* Wait until there is something to receive or the channel is closed. Errors: see
 * check_if_hanging(). */
static int wait_for_input(struct aside *a)
{
	for (;;) {
		struct pollfd all[] = { { .fd = a->channel, .events = POLLIN },
					{ .fd = a->messages, .events = POLLIN } };
		const int n = poll(all, 2, ASIDE_LOOK_MS);

		if (n > 0 && all[1].revents)
			copy_messages(a);
		else if (n > 0)
			return 0;

		const int err = n == 0 ? check_if_hanging(a) : 0;

		if (err)
			return err;
	}
}

/* A descriptor that comes with the bytes is closed. */
int aside_read(struct aside *a, void *to, size_t n)
{
	for (char *at = to; n;) {
		const int err = wait_for_input(a);
		const ssize_t got = err ? 0 : recv(a->channel, at, n, MSG_DONTWAIT);

		if (err)
			return err;
		if (got <= 0)
			return -EPIPE;
		a->n_still = 0;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int aside_take(struct aside *a, int *ret_fd)
{
	union control control = {};
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const int err = wait_for_input(a);

	if (err)
		return err;

	const ssize_t got = recvmsg(a->channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *head = got <= 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (got > 0 && message.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -EPIPE;
	memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
	a->n_still = 0;
	return 0;
}

int aside_explain(const struct aside *a, int code, const char *name, struct error *e)
{
	switch (code) {
	case -ETIMEDOUT:
		return error_set(e, code, "%s: its file system does not answer", name);
	case -ETIME:
		return error_set(e, code, "%s: reading takes more than %llu s of CPU time", name,
				 (unsigned long long)(a->bounds.cpu_ns / NS_PER_S));
	case -EMFILE:
		return error_set(e, code, "%s: %s", name, error_words(code));
	default:
		return error_set(e, code, "%s: the process that reads it has ended", name);
	}
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
