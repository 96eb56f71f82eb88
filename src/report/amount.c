// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Times from @least on are shown in this unit, whose thousandth has @thousandth ns. */
static const struct {
	uint64_t least, thousandth;
	const char *name;
} times[] = {
	{ 10000000000, 1000000, "s" },
	{ 10000000, 1000, "ms" },
	{ 10000, 1, "us" },
};

static size_t put_time(char to[AMOUNT_SIZE], int64_t ns)
{
	const char *sign = ns < 0 ? "-" : "";
	const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const uint64_t n = (size + times[i].thousandth / 2) / times[i].thousandth;

		if (size >= times[i].least)
			return (size_t)snprintf(to, AMOUNT_SIZE, "%s%" PRIu64 ".%03" PRIu64 " %s",
						sign, n / 1000, n % 1000, times[i].name);
	}
	return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " ns", ns);
}

static const struct {
	const char *name, *short_name;
	int64_t ns;
} time_units[] = { { "nanoseconds", "ns", 1 },
		   { "microseconds", "us", 1000 },
		   { "milliseconds", "ms", 1000000 },
		   { "seconds", "s", 1000000000 } };

/* The nanoseconds in a unit of time; 0: it is none. */
static int64_t ns_in_unit(const char *unit)
{
	for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++)
		if (text_is_same(unit, time_units[i].name))
			return time_units[i].ns;
	return 0;
}

const char *amount_short_unit(const char *unit)
{
	for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++)
		if (text_is_same(unit, time_units[i].name))
			return time_units[i].short_name;
	return unit;
}

size_t amount_put(char to[AMOUNT_SIZE], int64_t amount, const char *unit)
{
	const int64_t ns = ns_in_unit(unit);

	if (ns && amount >= INT64_MIN / ns && amount <= INT64_MAX / ns)
		return put_time(to, amount * ns);
	if (text_is_same(unit, "bytes"))
		return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " byte%s", amount,
					text_plural((uint64_t)amount));
	if (unit && text_is_unit(unit) && strcmp(unit, "count") != 0)
		return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " %s", amount, unit);
	return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64, amount);
}
