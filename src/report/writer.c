// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"

struct writer *writer_new(render_write *write, void *context)
{
	struct writer *w = xcalloc(1, sizeof(*w));

	w->write = write;
	w->context = context;
	return w;
}

void writer_freep(struct writer **w)
{
	if (*w)
		strbuf_fini(&(*w)->scratch);
	free(*w);
	*w = NULL;
}

int writer_flush(struct writer *w)
{
	if (w->n && !w->result)
		w->result = w->write(w->context, w->bytes, w->n);
	w->n = 0;
	return w->result;
}

void writer_put_rest(struct writer *w, const char *bytes, size_t n)
{
	if (writer_flush(w))
		return;
	if (n > sizeof(w->bytes)) {
		w->result = w->write(w->context, bytes, n);
		return;
	}
	memcpy(w->bytes, bytes, n);
	w->n = n;
}

void writer_put_u64(struct writer *w, uint64_t number)
{
	char digits[20], *end = digits + sizeof(digits);
	const char *at = put_decimal(end, number);

	writer_put(w, at, (size_t)(end - at));
}

void writer_put_i64(struct writer *w, int64_t number)
{
	if (number < 0)
		writer_put(w, "-", 1);
	writer_put_u64(w, count_magnitude(number));
}

/* --- columns --- */

static char *put_sign(char *at, bool is_negative, bool has_sign)
{
	if (is_negative)
		*--at = '-';
	else if (has_sign)
		*--at = '+';
	return at;
}

/* @text ends at @end. */
static size_t put_right_aligned(char *to, size_t width, const char *text, const char *end)
{
	const size_t n = (size_t)(end - text), blanks = n < width ? width - n : 0;

	assert(blanks + n < COLUMN_SIZE);
	memset(to, ' ', blanks);
	memcpy(to + blanks, text, n);
	to[blanks + n] = '\0';
	return blanks + n;
}

size_t column_number(char *to, size_t width, int64_t number, bool has_sign)
{
	char text[COLUMN_SIZE], *end = text + sizeof(text);

	return put_right_aligned(
		to, width,
		put_sign(put_decimal(end, count_magnitude(number)), number < 0, has_sign), end);
}

size_t column_share(char *to, size_t width, double percent, bool has_sign)
{
	const double most = 1e12, cut = percent > most ? most : percent < -most ? -most : percent;
	const int64_t tenths = (int64_t)(cut * 10 + (cut < 0 ? -0.5 : 0.5));
	char text[COLUMN_SIZE], *end = text + sizeof(text), *at = end;

	*--at = '%';
	*--at = (char)('0' + count_magnitude(tenths) % 10);
	*--at = '.';
	at = put_sign(put_decimal(at, count_magnitude(tenths) / 10), tenths < 0, has_sign);
	return put_right_aligned(to, width, at, end);
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

static size_t put_time(char to[AMOUNT_SIZE], int64_t ns, uint64_t largest)
{
	const struct time_unit *unit = time_units;

	while (unit->digits && largest < 10 * (uint64_t)unit->ns)
		unit++;
	if (!unit->digits)
		return (size_t)snprintf(to, AMOUNT_SIZE, "%" PRId64 " ns", ns);

	const uint64_t step = (uint64_t)unit->ns / unit->n;
	const uint64_t n = (count_magnitude(ns) + step / 2) / step;

	return (size_t)snprintf(to, AMOUNT_SIZE, "%s%" PRIu64 ".%0*" PRIu64 " %s",
				ns < 0 ? "-" : "", n / unit->n, unit->digits, n % unit->n,
				unit->short_name);
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
