// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/column.h"

#include <assert.h>
#include <string.h>

/* Writes backwards from @end, which is after the last byte. Returns the first byte. */
static char *put_decimal(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

static char *put_sign(char *at, bool is_negative, bool has_sign)
{
	if (is_negative)
		*--at = '-';
	else if (has_sign)
		*--at = '+';
	return at;
}

static uint64_t size_of_number(int64_t number)
{
	return number < 0 ? -(uint64_t)number : (uint64_t)number;
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

size_t column_text(char *to, size_t width, const char *text)
{
	return put_right_aligned(to, width, text, text + strlen(text));
}

size_t column_number(char *to, size_t width, int64_t number, bool has_sign)
{
	char text[COLUMN_SIZE], *end = text + sizeof(text);

	return put_right_aligned(
		to, width, put_sign(put_decimal(end, size_of_number(number)), number < 0, has_sign),
		end);
}

size_t column_share(char *to, size_t width, double percent, bool has_sign)
{
	const double most = 1e12, cut = percent > most ? most : percent < -most ? -most : percent;
	const int64_t tenths = (int64_t)(cut * 10 + (cut < 0 ? -0.5 : 0.5));
	char text[COLUMN_SIZE], *end = text + sizeof(text), *at = end;

	*--at = '%';
	*--at = (char)('0' + size_of_number(tenths) % 10);
	*--at = '.';
	at = put_sign(put_decimal(at, size_of_number(tenths) / 10), tenths < 0, has_sign);
	return put_right_aligned(to, width, at, end);
}
