// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/writer.h"

#include <assert.h>
#include <inttypes.h>

#include "base/text.h"

void writer_fini(struct writer *w)
{
	strbuf_fini(&w->text);
	strbuf_fini(&w->scratch);
}

int writer_flush(struct writer *w)
{
	if (w->text.n && !w->result)
		w->result = w->write(w->context, w->text.text, w->text.n);
	strbuf_clear(&w->text);
	return w->result;
}

/* --- numbers --- */

#define DIGITS_SIZE 40

/* Put the text from @at to @end, behind a sign, in @width columns. */
static void put_aligned(struct strbuf *to, size_t width, char *at, const char *end,
			bool is_negative, bool has_sign)
{
	static const char blanks[] = "                              ";

	assert(width < sizeof(blanks));
	if (is_negative || has_sign)
		*--at = is_negative ? '-' : '+';

	const size_t n = (size_t)(end - at);

	if (n < width)
		strbuf_put(to, blanks, width - n);
	strbuf_put(to, at, n);
}

void column_number(struct strbuf *to, size_t width, int64_t number, bool has_sign)
{
	char text[DIGITS_SIZE], *end = text + sizeof(text);

	put_aligned(to, width, put_decimal(end, count_magnitude(number)), end, number < 0,
		    has_sign);
}

void put_i64(struct strbuf *to, int64_t number)
{
	column_number(to, 0, number, false);
}

void put_u64(struct strbuf *to, uint64_t number)
{
	char text[DIGITS_SIZE], *end = text + sizeof(text);

	put_aligned(to, 0, put_decimal(end, number), end, false, false);
}

void column_share(struct strbuf *to, size_t width, double percent, bool has_sign)
{
	const double most = 1e12, cut = percent > most ? most : percent < -most ? -most : percent;
	const int64_t tenths = (int64_t)(cut * 10 + (cut < 0 ? -0.5 : 0.5));
	char text[DIGITS_SIZE], *end = text + sizeof(text), *at = end;

	*--at = '%';
	*--at = (char)('0' + count_magnitude(tenths) % 10);
	*--at = '.';
	put_aligned(to, width, put_decimal(at, count_magnitude(tenths) / 10), end, tenths < 0,
		    has_sign);
}

/* --- amounts --- */

/*
 * The last one is for others than times. Times have a unit of which the largest one in the report
 * has ten or more, with @digits behind the point: @n are in a unit.
 */
static const struct time_unit {
	const char *name, *short_name;
	int64_t ns;
	uint64_t n;
	int digits;
} time_units[] = { { "seconds", "s", 1000000000, 1000000, 6 },
		   { "milliseconds", "ms", 1000000, 1000, 3 },
		   { "microseconds", "us", 1000, 1000, 3 },
		   { "nanoseconds", "ns", 1, 1, 0 },
		   {} };

static void put_time(struct strbuf *to, int64_t ns, uint64_t largest)
{
	const struct time_unit *unit = time_units;

	while (unit->digits && largest < 10 * (uint64_t)unit->ns)
		unit++;
	if (!unit->digits)
		return strbuf_printf(to, "%" PRId64 " ns", ns);

	const uint64_t step = (uint64_t)unit->ns / unit->n;
	const uint64_t n = (count_magnitude(ns) + step / 2) / step;

	strbuf_printf(to, "%s%" PRIu64 ".%0*" PRIu64 " %s", ns < 0 ? "-" : "", n / unit->n,
		      unit->digits, n % unit->n, unit->short_name);
}

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

void amount_put(struct strbuf *to, int64_t amount, const char *unit, uint64_t largest)
{
	const int64_t ns = find_time_unit(unit)->ns;

	if (ns && largest <= (uint64_t)(INT64_MAX / ns) && amount >= INT64_MIN / ns &&
	    amount <= INT64_MAX / ns)
		return put_time(to, amount * ns, largest * (uint64_t)ns);
	put_i64(to, amount);
	if (text_is_same(unit, "bytes"))
		strbuf_printf(to, " byte%s", text_plural((uint64_t)amount));
	else if (unit && text_is_unit(unit) && strcmp(unit, "count") != 0)
		strbuf_printf(to, " %s", unit);
}
