/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/saturated.h - sums that stop at the largest and smallest number, and one that wraps. */
#pragma once

#include <stdint.h>

static inline int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t subtract_saturated(int64_t a, int64_t b)
{
	int64_t rest;

	return !__builtin_sub_overflow(a, b, &rest) ? rest : b < 0 ? INT64_MAX : INT64_MIN;
}

static inline void add_to(int64_t *sum, int64_t n)
{
	*sum = add_saturated(*sum, n);
}

/* As in the programs. */
static inline int64_t add_wrapped(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
