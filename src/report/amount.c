// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Times from @least on are shown in this unit, to @ns; a unit has @n of these. */
static const struct {
	uint64_t least, ns, n;
	const char *name;
	int digits;
} times[] = {
	{ 10000000000, 1000, 1000000, "s", 6 },
	{ 10000000, 1000, 1000, "ms", 3 },
	{ 10000, 1, 1000, "us", 3 },
};

static size_t put_time(char to[AMOUNT_SIZE], int64_t ns, uint64_t largest)
{
	const char *sign = ns < 0 ? "-" : "";
	const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const uint64_t n = (size + times[i].ns / 2) / times[i].ns;

		if (largest >= times[i].least)
			return (size_t)snprintf(to, AMOUNT_SIZE, "%s%" PRIu64 ".%0*" PRIu64 " %s",
						sign, n / times[i].n, times[i].digits,
						n % times[i].n, times[i].name);
	}
	return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " ns", ns);
}

/* The last one is for others than times. */
static const struct time_unit {
	const char *name, *short_name;
	int64_t ns;
} time_units[] = { { "nanoseconds", "ns", 1 },
		   { "microseconds", "us", 1000 },
		   { "milliseconds", "ms", 1000000 },
		   { "seconds", "s", 1000000000 },
		   {} };

static const struct time_unit *find_time_unit(const char *unit)
{
	const struct time_unit *found = time_units;

	while (found->name && !text_is_same(unit, found->name))
		found++;
	return found;
}

const char *amount_short_unit(const char *unit)
{
	const struct time_unit *found = find_time_unit(unit);

	return found->name ? found->short_name : unit;
}

size_t amount_put(char to[AMOUNT_SIZE], int64_t amount, const char *unit, uint64_t largest)
{
	const int64_t ns = find_time_unit(unit)->ns;

	if (ns && largest <= (uint64_t)(INT64_MAX / ns) && amount >= INT64_MIN / ns &&
	    amount <= INT64_MAX / ns)
		return put_time(to, amount * ns, largest * (uint64_t)ns);
	if (text_is_same(unit, "bytes"))
		return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " byte%s", amount,
					text_plural((uint64_t)amount));
	if (unit && text_is_unit(unit) && strcmp(unit, "count") != 0)
		return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " %s", amount, unit);
	return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64, amount);
}
