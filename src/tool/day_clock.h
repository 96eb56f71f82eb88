/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/day_clock.h - the time of day of a moment of CLOCK_MONOTONIC. */
#pragma once

#include <stdint.h>

struct day_clock {
	uint64_t difference_ns; /* the time of day minus CLOCK_MONOTONIC */
};

/* Measure the difference of the clocks as exactly as possible. */
void day_clock_measure(struct day_clock *c);

/* Measure again if the time of day has made a step. */
void day_clock_follow(struct day_clock *c);
