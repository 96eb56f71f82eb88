// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/escape.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/utf8.h"

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

#define REPLACEMENT "\xef\xbf\xbd"

/* The letter that stands for @c after a '\', or 0 if it has none. */
static char short_form(unsigned char c)
{
	static const char of[] = "\"\\\n\t\r\b\f", letters[] = "\"\\ntrbf";
	const char *found = strchr(of, c);

	if (!found)
		return '\0';
	return letters[found - of];
}

void json_put_string(struct strbuf *to, const char *text)
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
			strbuf_puts(to, REPLACEMENT);
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
	json_put_string(to, text);
}
