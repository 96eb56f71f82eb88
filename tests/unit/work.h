/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * work.h - compare pieces of work in the same process, as seconds mean nothing on a busy machine.
 *
 * A hypervisor may charge to us the time that it takes. So do a piece several times; the least
 * counts.
 */
#pragma once

#include "base/clock.h"

#define WORK_TIMES 5

static inline uint64_t work_begin(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The CPU time since @begin, or @least if that is less. */
static inline uint64_t work_least(uint64_t begin, uint64_t least)
{
	const uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;

	return took < least ? took : least;
}
