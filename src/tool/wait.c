// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"

static void ending_signals(sigset_t *set)
{
	struct sigaction hangup;

	(void)sigemptyset(set);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(set, SIGHUP); /* unless nohup(1) started us */
}

static int watch_descriptor(struct waiter *w, int fd, unsigned events, unsigned occasion,
			    struct error *e)
{
	struct epoll_event event = { .events = events, .data.u32 = occasion };

	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(e, "wait for events");
	return 0;
}

/*
 * A shell lets its background commands ignore SIGINT. The kernel drops an ignored signal, unless it
 * is blocked. So block it from now on.
 */
static void hold_ignored_signals(const sigset_t *ending)
{
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		sigset_t set;

		if (sigismember(ending, number) != 1 || sigaction(number, NULL, &action) < 0 ||
		    action.sa_handler != SIG_IGN)
			continue;
		(void)sigemptyset(&set);
		(void)sigaddset(&set, number);
		(void)sigprocmask(SIG_BLOCK, &set, NULL);
	}
}

int waiter_open(struct waiter *ret, struct error *e)
{
	sigset_t set;

	*ret = (struct waiter)WAITER_NONE;
	ending_signals(&set);
	hold_ignored_signals(&set);
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

void waiter_hold_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int waiter_watch(struct waiter *w, int fd, enum occasion occasion, struct error *e)
{
	return watch_descriptor(w, fd, EPOLLIN, occasion, e);
}

void waiter_leave(struct waiter *w, int fd)
{
	(void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL);
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

static int start_timer(struct waiter *w, int *fd, uint64_t ns, bool is_repeated, unsigned occasion,
		       struct error *e)
{
	struct timespec after = { .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
	struct itimerspec timer = { .it_value = after };

	if (is_repeated)
		timer.it_interval = after;
	*fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*fd < 0 || timerfd_settime(*fd, 0, &timer, NULL) < 0)
		return error_errno(e, "set a timer");
	return watch_descriptor(w, *fd, EPOLLIN, occasion, e);
}

/* poll(2) reports at once that a pipe's reader has gone. Files and terminals have no such event. */
static int watch_reader(struct waiter *w, struct error *e)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return 0;
	return watch_descriptor(w, STDOUT_FILENO, 0, OCCASION_NO_READER, e);
}

int waiter_set_timers(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns, struct error *e)
{
	int err = 0;

	w->interval_ns = interval_ns;
	w->duration_ns = duration_ns;
	if (interval_ns)
		err = start_timer(w, &w->interval, interval_ns, true, OCCASION_INTERVAL, e);
	if (!err && duration_ns)
		err = start_timer(w, &w->end, duration_ns, false, OCCASION_TIME_IS_UP, e);
	return err;
}

int waiter_start(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns,
		 const struct notices *notices, struct command *command, struct error *e)
{
	int err = watch_descriptor(w, notices->fd, EPOLLIN, OCCASION_NOTICE, e);

	w->command = command;
	if (!err)
		err = waiter_set_timers(w, interval_ns, duration_ns, e);
	if (!err && command->pid)
		err = waiter_watch(w, command->pidfd, OCCASION_COMMAND_ENDED, e);
	return err ? err : watch_reader(w, e);
}

/*
 * The interval that ends with the run is no occasion of its own. We may see one timer after the
 * other. The second one would print an empty report after the last report. Read the timer once
 * only: a quick one expires again meanwhile.
 */
static unsigned consume_interval(struct waiter *w)
{
	uint64_t n_expired = 0;

	(void)!read(w->interval, &n_expired, sizeof(n_expired));
	w->n_intervals += n_expired;
	return w->duration_ns && w->n_intervals >= (w->duration_ns - 1) / w->interval_ns + 1
		       ? OCCASION_TIME_IS_UP
		       : OCCASION_INTERVAL;
}

bool waiter_take_signals(struct waiter *w)
{
	struct signalfd_siginfo any;
	bool was_one = false;

	while (read(w->signals, &any, sizeof(any)) > 0)
		was_one = true;
	return was_one;
}

bool waiter_has_signal(const struct waiter *w)
{
	struct pollfd fd = { .fd = w->signals, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

bool waiter_must_end(const struct waiter *w)
{
	struct pollfd all[] = { { .fd = w->signals, .events = POLLIN },
				{ .fd = w->end, .events = POLLIN } };

	return poll(all, 2, 0) > 0;
}

/* Consume @occasions, and return those that have really occurred. */
static unsigned consume_occasions(struct waiter *w, unsigned occasions)
{
	struct signalfd_siginfo any;

	if (occasions & OCCASION_SIGNAL)
		(void)waiter_take_signals(w);
	if (occasions & OCCASION_REPORT)
		(void)!read(w->wishes, &any, sizeof(any));
	if (occasions & OCCASION_INTERVAL)
		occasions = (occasions & ~(unsigned)OCCASION_INTERVAL) | consume_interval(w);
	if (occasions & OCCASION_PROCESSES_ENDED && watch_process(w, w->n_ended + 1))
		occasions &= ~(unsigned)OCCASION_PROCESSES_ENDED;
	if (occasions & OCCASION_COMMAND_ENDED && !command_has_ended(w->command))
		occasions &= ~(unsigned)OCCASION_COMMAND_ENDED;
	return occasions;
}

int waiter_wait(struct waiter *w, int patience_ms, unsigned *ret, struct error *e)
{
	struct epoll_event events[8];
	int n;

	*ret = 0;
	do {
		n = epoll_wait(w->epoll, events, 8, patience_ms);
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
	cleanup_close_fd(&w->interval);
	cleanup_close_fd(&w->end);
	cleanup_close_fd(&w->process);
}
