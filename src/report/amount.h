/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/amount.h - a sum of values with its unit, for people. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AMOUNT_SIZE 64

/*
 * "4096 bytes", "1.500 ms", "8 sectors", "-11". Times have a unit that suits the size of the
 * largest one in the report. The number stands alone without a unit, for "count", and for a unit
 * that text_is_unit() refuses. Returns the bytes without the NUL.
 */
size_t amount_put(char to[AMOUNT_SIZE], int64_t amount, const char *unit, uint64_t largest);

/* "ns" for "nanoseconds". Other units are short. */
const char *amount_short_unit(const char *unit);
