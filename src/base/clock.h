/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/clock.h - the time as a number. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ULL

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t later_time(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier_time(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
