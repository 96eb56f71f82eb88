// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#define MAX_SECONDS (UINT64_MAX / NS_PER_S - 1)
#define MAX_LIST 1048576 /* a list holds each number of a range; "1-4294967295" is a slip */

/*
 * We cannot use strtoull() and strtod(). They accept blanks, signs, "0x", "1e3", "nan" and "inf".
 * And the locale decides which decimal point strtod() expects.
 */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read the digits at *@at, and move *@at past them. False: there are none, or they overflow. */
static bool read_digits(const char **at, uint64_t *ret)
{
	const char *p = *at;
	bool fits = is_digit(*p);

	*ret = 0;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(*p - '0'), ret))
			fits = false;
	*at = p;
	return fits;
}

int parse_seconds_ns(const char *what, const char *text, uint64_t *ret, struct error *e)
{
	const bool is_negative = text[0] == '-';
	const char *begin = text + is_negative, *at = begin;
	uint64_t seconds, ns = 0;
	const bool fits = read_digits(&at, &seconds) && seconds <= MAX_SECONDS;
	const bool is_whole = at > begin;
	size_t n_digits = is_whole;

	if (*at == '.') /* digits below a nanosecond are dropped */
		for (uint64_t unit = NS_PER_S / 10; is_digit(*++at); unit /= 10, n_digits++)
			ns += (uint64_t)(*at - '0') * unit;
	if (*at || !n_digits)
		return error_set(e, -EINVAL,
				 "%s: '%s' is not a number of seconds (for example 1 or 0.25)",
				 what, text);
	if (is_whole && !fits && !is_negative)
		return error_set(e, -EINVAL, "%s: '%s' is too long a time", what, text);
	if (is_negative || !(seconds || ns))
		return error_set(e, -EINVAL, "%s: '%s' is not a time above 0", what, text);
	*ret = seconds * NS_PER_S + ns;
	return 0;
}

int parse_count(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		struct error *e)
{
	const char *at = text;
	uint64_t n;

	if (!read_digits(&at, &n) || *at || n < min || n > max)
		return error_set(e, -EINVAL, "%s: '%s' is not a whole number from %llu to %llu",
				 what, text, (unsigned long long)min, (unsigned long long)max);
	*ret = n;
	return 0;
}

/* The suffix as a shift of the number, or -1 if it is none. */
static int suffix_shift(const char *suffix)
{
	static const char letters[] = "kKmMgG";
	const char *at = strchr(letters, *suffix);

	if (!*suffix)
		return 0;
	return at && !suffix[1] ? 10 * (1 + (int)(at - letters) / 2) : -1;
}

int parse_bytes(const char *what, const char *text, uint64_t *ret, struct error *e)
{
	const char *at = text;
	uint64_t n;
	bool fits = read_digits(&at, &n);
	int shift = suffix_shift(at);

	if (at == text || shift < 0)
		return error_set(e, -EINVAL,
				 "%s: '%s' is not a size (for example 512k, 64M, 1G or 4096)", what,
				 text);
	if (!fits || n > UINT64_MAX >> shift)
		return error_set(e, -EINVAL, "%s: '%s' is too large a size", what, text);
	if (n == 0)
		return error_set(e, -EINVAL, "%s: '%s' is not a size above 0", what, text);
	*ret = n << shift;
	return 0;
}

void number_list_fini(struct number_list *list)
{
	free(list->numbers);
	*list = (struct number_list){};
}

/* Read "7" or "0-3" at *@at, and move *@at past it. False: it is neither, or out of bounds. */
static bool read_range(const char **at, uint32_t min, uint32_t max, uint64_t ret[2])
{
	if (!read_digits(at, &ret[0]))
		return false;
	ret[1] = ret[0];
	if (**at == '-') {
		*at += 1;
		if (!read_digits(at, &ret[1]))
			return false;
	}
	return ret[0] >= min && ret[0] <= ret[1] && ret[1] <= max;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_once_each(struct number_list *list)
{
	size_t n = 0;

	if (!list->n)
		return;
	qsort(list->numbers, list->n, sizeof(*list->numbers), compare_numbers);
	for (size_t i = 0; i < list->n; i++)
		if (i == 0 || list->numbers[i] != list->numbers[n - 1])
			list->numbers[n++] = list->numbers[i];
	list->n = n;
}

int parse_number_list(const char *what, const char *text, uint32_t min, uint32_t max,
		      struct number_list *list, struct error *e)
{
	const char *at = text;
	uint64_t range[2];

	for (;;) {
		if (!read_range(&at, min, max, range) || (*at && *at != ','))
			return error_set(e, -EINVAL,
					 "%s: '%s' is not a list of numbers from %u to %u "
					 "(for example 3 or 1,2 or 1-3,7)",
					 what, text, min, max);
		if (range[1] - range[0] >= MAX_LIST - list->n)
			return error_set(e, -EINVAL, "%s: '%s' is more than %d numbers", what, text,
					 MAX_LIST);
		for (uint64_t n = range[0]; n <= range[1]; n++)
			array_push(list->numbers, list->n, list->capacity, (uint32_t)n);
		if (!*at)
			break;
		at++;
	}

	sort_once_each(list);
	return 0;
}

int parse_unit(const char *what, const char *text, const char **ret, struct error *e)
{
	static const struct {
		const char *text, *name;
	} times[] = { { "ns", "nanoseconds" },
		      { "us", "microseconds" },
		      { "ms", "milliseconds" },
		      { "s", "seconds" } };

	if (!text_is_unit(text))
		return error_set(e, -EINVAL,
				 "%s: '%s' is not a word of at most %d letters, digits and _-/%%.",
				 what, text, TEXT_UNIT_BYTES);
	*ret = text;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (strcmp(text, times[i].text) == 0)
			*ret = times[i].name;
	return 0;
}
