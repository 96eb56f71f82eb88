/*
 * tool/wait.h - what can happen while counting: a signal, the next interval, the end of
 * the time, a notice from the programs, the command's end, a reader that has gone.
 * Sleeps until one of them does; nothing is polled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/notices.h"
#include "tool/command.h"

enum occasion {
	OCCASION_NOTICE = 1,
	OCCASION_INTERVAL = 2,
	OCCASION_TIME_IS_UP = 4,
	OCCASION_SIGNAL = 8,
	OCCASION_COMMAND_ENDED = 16,
	OCCASION_NO_READER = 32,
	OCCASION_PROCESSES = 64,
};

struct waiter {
	int epoll;
	int signals;
	int interval;
	int end;
	int retry; /* looks after a command where there is no pidfd */
	uint64_t interval_ns, duration_ns;
	uint64_t n_intervals; /* that are over */
	const struct notices *notices;
	struct command *command;
};

#define WAITER_NONE                                                                \
	{                                                                          \
		.epoll = -1, .signals = -1, .interval = -1, .end = -1, .retry = -1 \
	}

must_check int waiter_open(struct waiter *ret, struct error *e);

/*
 * SIGINT, SIGTERM and SIGHUP no longer end the program, but are kept for waiter_wait(). Before,
 * they end it at once, whatever its start waits for; one that was ignored when the program began is
 * kept from waiter_open() on.
 */
void waiter_hold_signals(void);

/* From now on, the clock runs. 0: no interval, no end. Both are lent. */
must_check int waiter_start(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns,
			    const struct notices *notices, struct command *command,
			    struct error *e);

/* That part of it. An interval that ends with the duration is its end, and no OCCASION_INTERVAL. */
must_check int waiter_set_timers(struct waiter *w, uint64_t interval_ns, uint64_t duration_ns,
				 struct error *e);

/* @fd is readable when processes have done something. */
must_check int waiter_watch_processes(struct waiter *w, int fd, struct error *e);

/*
 * An OR of occasions: at least one, or none after @patience_ms (-1: for ever). Errors: from epoll.
 */
must_check int waiter_wait(struct waiter *w, int patience_ms, unsigned *ret, struct error *e);

/* For who waits for something else: w->signals is readable when a signal came. Was there one? */
bool waiter_take_signals(struct waiter *w);

/* Is there one? It stays there. */
bool waiter_has_signal(const struct waiter *w);

/* Likewise: is there one, or is the time up? */
bool waiter_must_end(const struct waiter *w);

/* From here on a signal ends the program at once. */
void waiter_release_signals(struct waiter *w);
void waiter_close(struct waiter *w);
