/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/wait.h - wait for the occasions of a run (enum occasion). waiter_wait() sleeps until one
 * occurs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "match/numbers.h"
#include "store/notices.h"

struct command;

/*
 * While something takes long, the run looks at signals, notices and readers so often. In this time,
 * the records of 1,000 programs a second fill a tenth of their rings.
 */
#define TICK_MS 20
#define TICK_NS (NS_PER_S / 50)

enum occasion {
	OCCASION_NOTICE = 1,
	OCCASION_INTERVAL = 2,
	OCCASION_TIME_IS_UP = 4,
	OCCASION_SIGNAL = 8,
	OCCASION_COMMAND_ENDED = 16,
	OCCASION_NO_READER = 32,
	OCCASION_PROCESSES = 64,
	OCCASION_QUESTION = 128,
	OCCASION_PROCESSES_ENDED = 256, /* all of -p */
	OCCASION_REPORT = 512,          /* SIGUSR1: the user wants a report now */
};

struct waiter {
	int epoll;
	int signals;
	bool is_asked; /* a signal has asked for the end, and was taken */
	int wishes;    /* SIGUSR1 */
	int process;   /* pidfd of process @n_ended of @pids; -1: not known */
	size_t n_ended;
	const struct number_list *pids;
	uint64_t interval_ns;
	uint64_t next_at, end_at; /* ends of this interval, and of the run; UINT64_MAX: none */
	struct command *command;
};

#define WAITER_NONE                                                                             \
	{                                                                                       \
		.epoll = -1, .signals = -1, .wishes = -1, .process = -1, .next_at = UINT64_MAX, \
		.end_at = UINT64_MAX,                                                           \
	}

/* From now on, SIGUSR1 waits for waiter_wait(). Threads that begin later inherit this. */
must_check int waiter_open(struct waiter *ret, struct error *e);

/* Watch @notices and @command, which are lent, and the reader of standard output. */
must_check int waiter_start(struct waiter *w, const struct notices *notices,
			    struct command *command, struct error *e);

/*
 * The time begins; 0: no interval, no end. An interval that ends with the duration is
 * OCCASION_TIME_IS_UP alone. From now on, SIGINT, SIGTERM and SIGHUP wait for waiter_wait().
 * Before, they end the program at once, whatever its start waits for.
 */
void waiter_begin(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns);

/*
 * Watch for the end of the processes @pids, which are lent, one at a time. Without a descriptor for
 * one, as for a thread's number, they do not end.
 */
void waiter_watch_processes(struct waiter *w, const struct number_list *pids);

/* Have all of them ended? */
bool waiter_saw_processes_end(const struct waiter *w);

/* Watch @fd: @occasion occurs while it is readable. */
must_check int waiter_watch(struct waiter *w, int fd, enum occasion occasion, struct error *e);

/*
 * Wait for occasions. *@ret is an OR of them, or 0 at @until (ns of CLOCK_MONOTONIC, as all times
 * here). It is up to 1 ms late. Errors: from epoll.
 */
must_check int waiter_wait(struct waiter *w, uint64_t until, unsigned *ret, struct error *e);

/*
 * Take all signals that have come. Was there one? Code that waits for something else can poll
 * w->signals.
 */
bool waiter_take_signals(struct waiter *w);

/* Has a (further) signal come? It stays for waiter_take_signals(). */
bool waiter_has_signal(const struct waiter *w);

/* Has a signal come at any time, or is the time up? Takes none. */
bool waiter_must_end(const struct waiter *w);

/* From now on, a signal ends the program at once. */
void waiter_release_signals(struct waiter *w);
void waiter_close(struct waiter *w);
