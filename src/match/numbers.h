/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/numbers.h - parse the values of options: seconds, counts, sizes, units and lists. Pure.
 *
 * All functions return 0, or -EINVAL with a message that names the option @what.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "1", "0.25", "1.5": seconds, returned as nanoseconds above 0. */
must_check int parse_seconds_ns(const char *what, const char *text, uint64_t *ret, struct error *e);

/* A whole decimal number from @min to @max. */
must_check int parse_count(const char *what, const char *text, uint64_t min, uint64_t max,
			   uint64_t *ret, struct error *e);

/* "64M", "1G", "512k", "1048576": bytes above 0. k, M and G are powers of 1024. */
must_check int parse_bytes(const char *what, const char *text, uint64_t *ret, struct error *e);

/* A unit of time by pprof's name, "ns" as "nanoseconds"; any other word is lent by @text. */
must_check int parse_unit(const char *what, const char *text, const char **ret, struct error *e);

/* A set of numbers, ascending, each once. Owns the array. A zeroed struct is an empty set. */
struct number_list {
	uint32_t *numbers;
	size_t n;
	size_t capacity;
};

/* "3", "0,2", "0-3,7": add these numbers to @list, because an option may be given several times. */
must_check int parse_number_list(const char *what, const char *text, uint32_t min, uint32_t max,
				 struct number_list *list, struct error *e);
void number_list_fini(struct number_list *list);
