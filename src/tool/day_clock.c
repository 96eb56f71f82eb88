// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/day_clock.h"

#include "base/clock.h"

/* A smaller difference is an error of measurement, and no step of the time of day. */
#define STEP_NS 1000000

/* The time of day minus the monotonic clock, to within *@error. */
static uint64_t clock_difference(uint64_t *error)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);
	uint64_t realtime = clock_ns(CLOCK_REALTIME);

	*error = clock_ns(CLOCK_MONOTONIC) - before;
	return realtime - before - *error / 2;
}

void day_clock_measure(struct day_clock *c)
{
	uint64_t error, least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t between = clock_difference(&error);

		if (error < least)
			c->difference_ns = between;
		least = error < least ? error : least;
	}
}

/*
 * Both clocks run at one rate, so only a step of the time of day changes their difference. If each
 * measurement counted, its error would put events out of order.
 */
void day_clock_follow(struct day_clock *c)
{
	uint64_t error;
	int64_t step = (int64_t)(clock_difference(&error) - c->difference_ns);

	if (step > (int64_t)(STEP_NS + error) || step < -(int64_t)(STEP_NS + error))
		day_clock_measure(c);
}
