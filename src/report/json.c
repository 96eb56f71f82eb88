// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json.h"

#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The letter that stands for @c after a '\', or 0 if @c has none. */
static char short_form(uint32_t c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	default:
		return '\0';
	}
}

/* Put @c as "\u" escapes, which are UTF-16. */
static void put_unicode_escape(struct strbuf *to, uint32_t c)
{
	if (c < 0x10000)
		strbuf_printf(to, "\\u%04x", (unsigned)c);
	else
		strbuf_printf(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			      (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
}

/* The number of bytes that stand for themselves: most texts have no others. */
static size_t n_plain_json(const unsigned char *at)
{
	size_t n = 0;

	while (at[n] >= ' ' && at[n] < 0x7f && at[n] != '"' && at[n] != '\\')
		n++;
	return n;
}

void json_put_string(struct strbuf *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	strbuf_putc(to, '"');
	while (*at) {
		uint32_t c = 0;
		size_t n = n_plain_json(at);

		strbuf_put(to, (const char *)at, n);
		at += n;
		if (!*at)
			break;
		n = utf8_at(at, &c);
		if (n == 0)
			strbuf_puts(to, REPLACEMENT);
		else if (short_form(c))
			strbuf_printf(to, "\\%c", short_form(c));
		else if (utf8_is_active(c))
			put_unicode_escape(to, c);
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
	strbuf_putc(to, '"');
}
