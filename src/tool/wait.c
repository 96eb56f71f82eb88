// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "tool/run.h"

static void ending_signals(sigset_t *set)
{
	struct sigaction hangup;

	(void)sigemptyset(set);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(set, SIGHUP); /* unless nohup(1) started us */
}

int waiter_open(struct waiter *ret, struct error *e)
{
	sigset_t set;

	*ret = (struct waiter)WAITER_NONE;
	ending_signals(&set);
	/* A shell lets its background commands ignore them, and the kernel drops ignored ones. */
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	ret->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ret->epoll < 0)
		return error_errno(e, "make an epoll descriptor");
	ret->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ret->signals < 0)
		return error_errno(e, "make a signal descriptor");
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	ret->wishes = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	const int err = waiter_watch(ret, ret->signals, OCCASION_SIGNAL, e);

	return err ? err : waiter_watch(ret, ret->wishes, OCCASION_REPORT, e);
}

int waiter_watch(struct waiter *w, int fd, enum occasion occasion, struct error *e)
{
	struct epoll_event event = { .events = occasion == OCCASION_NO_READER ? 0 : EPOLLIN,
				     .data.u32 = occasion };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) < 0
		       ? error_errno(e, "wait for events")
		       : 0;
}

/* Watch the first of @pids, from number @first on, that is there. False: none is. */
static bool watch_process(struct waiter *w, size_t first)
{
	struct error none;

	cleanup_close_fd(&w->process);
	for (w->n_ended = first; w->n_ended < w->pids->n; w->n_ended++) {
		w->process = (int)syscall(SYS_pidfd_open, w->pids->numbers[w->n_ended], 0);
		if (w->process >= 0 || errno != ESRCH)
			break;
	}
	if (w->process >= 0 && waiter_watch(w, w->process, OCCASION_PROCESSES_ENDED, &none))
		cleanup_close_fd(&w->process);
	return w->n_ended < w->pids->n;
}

void waiter_watch_processes(struct waiter *w, const struct number_list *pids)
{
	w->pids = pids;
	(void)watch_process(w, 0);
}

bool waiter_saw_processes_end(const struct waiter *w)
{
	return w->pids && w->pids->n && w->n_ended == w->pids->n;
}

int waiter_start(struct waiter *w, const struct notices *notices, struct command *command,
		 struct error *e)
{
	int err = waiter_watch(w, notices->fd, OCCASION_NOTICE, e);
	struct stat st;

	w->command = command;
	if (!err && command->pid)
		err = waiter_watch(w, command->pidfd, OCCASION_COMMAND_ENDED, e);
	/* poll(2) reports at once that a pipe's reader has gone. Files and terminals do not. */
	if (!err && fstat(STDOUT_FILENO, &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		err = waiter_watch(w, STDOUT_FILENO, OCCASION_NO_READER, e);
	return err;
}

void waiter_begin(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	sigset_t set;

	ending_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	w->interval_ns = interval_ns;
	w->next_at = interval_ns ? now + interval_ns : UINT64_MAX;
	w->end_at = duration_ns ? now + duration_ns : UINT64_MAX;
}

bool waiter_take_signals(struct waiter *w)
{
	struct signalfd_siginfo any;
	bool was_one = false;

	while (read(w->signals, &any, sizeof(any)) > 0)
		was_one = true;
	w->is_asked = w->is_asked || was_one;
	return was_one;
}

bool waiter_has_signal(const struct waiter *w)
{
	struct pollfd fd = { .fd = w->signals, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

bool waiter_must_end(const struct waiter *w)
{
	return w->is_asked || waiter_has_signal(w) || clock_ns(CLOCK_MONOTONIC) >= w->end_at;
}

/* Consume @occasions, and return those that have really occurred. */
static unsigned consume_occasions(struct waiter *w, unsigned occasions)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct signalfd_siginfo any;

	if (occasions & OCCASION_SIGNAL)
		(void)waiter_take_signals(w);
	if (occasions & OCCASION_REPORT)
		(void)!read(w->wishes, &any, sizeof(any));
	if (occasions & OCCASION_PROCESSES_ENDED && watch_process(w, w->n_ended + 1))
		occasions &= ~(unsigned)OCCASION_PROCESSES_ENDED;
	if (occasions & OCCASION_COMMAND_ENDED && !command_has_ended(w->command))
		occasions &= ~(unsigned)OCCASION_COMMAND_ENDED;
	if (now >= w->end_at) {
		occasions |= OCCASION_TIME_IS_UP;
	} else if (now >= w->next_at) {
		occasions |= OCCASION_INTERVAL;
		w->next_at += (1 + (now - w->next_at) / w->interval_ns) * w->interval_ns;
	}
	return occasions;
}

/* For epoll_wait(2), so that it does not end before @until. */
static int ms_until(uint64_t until)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t ms = until > now ? (until - now - 1) / (NS_PER_S / 1000) + 1 : 0;

	return until == UINT64_MAX ? -1 : ms < INT_MAX ? (int)ms : INT_MAX;
}

int waiter_wait(struct waiter *w, uint64_t until, unsigned *ret, struct error *e)
{
	struct epoll_event events[8];
	int n;

	*ret = 0;
	until = earlier_time(until, earlier_time(w->next_at, w->end_at));
	do {
		n = epoll_wait(w->epoll, events, 8, ms_until(until));
		if (n < 0 && errno != EINTR)
			return error_errno(e, "wait for events");
		for (int i = 0; i < n; i++)
			*ret |= events[i].data.u32;
		*ret = consume_occasions(w, *ret);
	} while (!*ret && n != 0);
	return 0;
}

void waiter_release_signals(struct waiter *w)
{
	sigset_t set;

	cleanup_close_fd(&w->signals);
	ending_signals(&set);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void waiter_close(struct waiter *w)
{
	cleanup_close_fd(&w->epoll);
	cleanup_close_fd(&w->signals);
	cleanup_close_fd(&w->wishes);
	cleanup_close_fd(&w->process);
}
