// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "saved/page.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

bool page_is_page(const void *bytes, size_t n)
{
	static const char *const beginnings[] = { "<!doctype html", "<html", "<!--" };
	static const uint8_t mark[] = { 0xef, 0xbb, 0xbf }; /* of the order of bytes */
	const char *at = bytes, *end = at + n;

	if (n >= sizeof(mark) && memcmp(at, mark, sizeof(mark)) == 0)
		at += sizeof(mark);
	while (at < end && strchr(" \t\r\n", *at) && *at)
		at++;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		const size_t length = strlen(beginnings[i]);

		if ((size_t)(end - at) >= length && strncasecmp(at, beginnings[i], length) == 0)
			return true;
	}
	return false;
}

/* The value of a digit of base64, or -1. */
static int base64_value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Append the bytes of the text up to @end. Blanks may be anywhere. */
static bool decode_base64(const char *at, const char *end, struct strbuf *to)
{
	uint32_t bits = 0;
	size_t n = 0, n_padding = 0;

	for (; at < end; at++) {
		const int value = base64_value_of(*at);

		if (is_blank(*at))
			continue;
		if (*at == '=')
			n_padding++;
		else if (value < 0 || n_padding)
			return false;
		bits = bits << 6 | (value < 0 ? 0 : (uint32_t)value);
		if (++n % 4)
			continue;
		if (n_padding > 2)
			return false;

		const char three[] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits };

		strbuf_put(to, three, 3 - n_padding);
	}
	return n % 4 == 0 && n_padding <= 2;
}

int page_data(const void *bytes, size_t n, const char *name, struct strbuf *to, struct error *e)
{
	static const char begin[] =
		"<script type=\"application/octet-stream;base64\" id=\"profile-data\">";
	const char *at = memmem(bytes, n, begin, sizeof(begin) - 1), *end;

	if (!at)
		return error_set(e, -ENOEXEC, "%s: a page without a profile of stackcount", name);
	at += sizeof(begin) - 1;
	end = memchr(at, '<', n - (size_t)(at - (const char *)bytes));
	if (!end)
		return error_set(e, -EBADMSG, "%s: ends within its profile", name);
	if (!decode_base64(at, end, to))
		return error_set(e, -EBADMSG, "%s: its profile is no base64", name);
	return 0;
}
