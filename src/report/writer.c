// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"

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

/* --- foreign text --- */

static void put_hex_escapes(struct strbuf *to, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		char hex[] = { '\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15] };

		strbuf_put(to, hex, sizeof(hex));
	}
}

/*
 * The number of bytes, from the first on, that are ASCII to be shown, and neither '\' nor @other:
 * most names have no others.
 */
static size_t n_plain(const unsigned char *at, unsigned char other)
{
	size_t n = 0;

	while (at[n] >= ' ' && at[n] < 0x7f && at[n] != '\\' && at[n] != other)
		n++;
	return n;
}

void escape_put(struct strbuf *to, const char *text, bool is_folded)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t c = 0;
		size_t n = n_plain(at, ';');

		if (n) {
			strbuf_put(to, (const char *)at, n);
			at += n;
			continue;
		}
		n = utf8_at(at, &c);

		if (is_folded && (*at == ';' || *at == '\n'))
			strbuf_putc(to, '_');
		else if (n == 0 || utf8_is_active(c) || (at[0] == '\\' && at[1] == 'x'))
			put_hex_escapes(to, at, n ? n : 1);
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
}

void escape_put_name(struct strbuf *to, const char *name, bool is_folded)
{
	/* Does it read like a mark, or like anything in brackets, as functions without a name? */
	if (text_begins_with(name, "[cut: ") || text_begins_with(name, "[unverified: ") ||
	    (name[0] == '[' && strchr(name, ']'))) {
		put_hex_escapes(to, (const unsigned char *)name, 1);
		name++;
	}
	escape_put(to, name, is_folded);
}

void escape_put_file(struct strbuf *to, const char *name, bool is_folded)
{
	if (strcmp(name, "unknown") == 0 || strcmp(name, "no stack") == 0 ||
	    strcmp(name, "vdso") == 0 || text_begins_with(name, "cut: ") ||
	    text_begins_with(name, "unverified: ")) {
		put_hex_escapes(to, (const unsigned char *)name, 1);
		name++;
	}
	while (*name) {
		const char *end = name;

		/* Up to what ends the name in brackets, or reads like a function's place. */
		while (*end && *end != ']' && !text_begins_with(end, "+0x"))
			end++;

		cleanup_free char *part = xstrndup(name, (size_t)(end - name));

		escape_put(to, part, is_folded);
		if (*end)
			put_hex_escapes(to, (const unsigned char *)end++, 1);
		name = end;
	}
}

/* --- JSON --- */

/* The letter that stands for @c after a '\', or 0 if it has none. */
static char short_form(unsigned char c)
{
	static const char of[] = "\"\\\n\t\r\b\f", letters[] = "\"\\ntrbf";
	const char *found = strchr(of, c);

	if (!found)
		return '\0';
	return letters[found - of];
}

static void put_json_string(struct strbuf *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	strbuf_putc(to, '"');
	while (*at) {
		uint32_t c = 0;
		size_t n = n_plain(at, '"');

		strbuf_put(to, (const char *)at, n);
		at += n;
		if (!*at)
			break;
		n = utf8_at(at, &c);
		if (n == 0)
			strbuf_puts(to, "\ufffd");
		else if (short_form(*at))
			strbuf_printf(to, "\\%c", short_form(*at));
		else if (utf8_is_active(c) && c < 0x10000)
			strbuf_printf(to, "\\u%04x", (unsigned)c);
		else if (utf8_is_active(c)) /* as UTF-16 */
			strbuf_printf(to, "\\u%04x\\u%04x",
				      (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
				      (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
	strbuf_putc(to, '"');
}

void put_json_member(struct strbuf *to, const char *key, const char *text)
{
	if (!text)
		return;
	strbuf_puts(to, key);
	put_json_string(to, text);
}

void member_u64(struct strbuf *to, const char *key, uint64_t number)
{
	strbuf_puts(to, key);
	put_u64(to, number);
}

void member_i64(struct strbuf *to, const char *key, int64_t number)
{
	strbuf_puts(to, key);
	put_i64(to, number);
}
