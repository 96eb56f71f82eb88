/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/samples.h - the perf events that run a program once in each period, and their own counts.
 *
 * The kernel runs no program if another one runs on the CPU, and tells nobody. But the event counts
 * on: so the periods that have ended, minus the runs of the program, are the samples left out.
 *
 * An event is on one CPU, and ends when that goes offline (read_enabled_ns()). Then the CPU
 * needs another one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct samples {
	struct sample_event *events;
	size_t n, capacity;
};

/* How an event is sampled: once in so many events, or so often in a second. */
struct sampling {
	uint64_t period;
	uint64_t frequency; /* used if @period is 0 */
	uint64_t slack;     /* the event's last so many counts may not have led to a run yet */
	uint64_t wanted;    /* of a clock that begins with a longer period: the user's. Else 0 */
	bool is_partial;    /* the event counts on where it is not sampled */
};

/* The timer of a clock may be this late when an event ends. */
#define TIMER_SLACK_NS 1000000ULL

static inline uint64_t samples_slack(uint64_t period)
{
	return period / 2 < TIMER_SLACK_NS ? period / 2 : TIMER_SLACK_NS;
}

/* A clock begins with this period at least, until the price of a hit is known. */
#define FIRST_PERIOD_NS 1000000ULL

/* Keep @target's event on @cpu. Owns @fd. */
void samples_add(struct samples *s, int fd, uint32_t target, uint32_t cpu,
		 const struct sampling *how);
void samples_fini(struct samples *s);

/* See which events have ended since the last call, which was a while ago. They are enabled. */
void samples_look(struct samples *s);
bool samples_has(const struct samples *s, uint32_t target, uint32_t cpu);

/*
 * A clock's timer takes the CPU whatever else is to be done. Give those with a wanted period one so
 * long that hits, of @price_ns each, take a quarter of a CPU at most. Returns how one is sampled
 * that has a longer period than the user wanted; NULL: none has.
 */
const struct sampling *samples_pace(struct samples *s, uint64_t price_ns);

/* Have all events count, or no longer. */
void samples_enable(const struct samples *s);
void samples_disable(const struct samples *s);

struct samples_state {
	uint64_t n_due;    /* periods that have ended, by the events' own counts */
	uint64_t n_slowed; /* wanted ones that samples_pace() has left out */
	bool is_counted;   /* @n_due is known: no event is sampled by frequency */
	double least_time; /* of an event: the part of the time in which it had a counter, up to 1
			    */
};

struct samples_state samples_read(const struct samples *s);
