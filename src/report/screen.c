// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/screen.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/escape.h"

#define NS_PER_S 1000000000ULL

/* ECMA-48: to the first column of the first line; erase to the end of the line, of the screen. */
#define HOME "\x1b[H"
#define ERASE_LINE "\x1b[K"
#define ERASE_REST "\x1b[J"
#define PLAIN "\x1b[m"
#define REVERSE "\x1b[7m"

static const char keys[] =
	" q quit  i invert  v total/interval  +/- less/more  space pause  arrows scroll";

/* 1,204,331 */
static void put_grouped(struct strbuf *to, uint64_t n)
{
	char digits[32];
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			strbuf_putc(to, ',');
		strbuf_putc(to, digits[i]);
	}
}

/* "0:42", "1:02:03" */
static void put_elapsed(struct strbuf *to, uint64_t ns)
{
	const uint64_t s = ns / NS_PER_S;

	if (s >= 3600)
		strbuf_printf(to, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			      s % 60);
	else
		strbuf_printf(to, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
}

static bool is_colour_end(char c)
{
	return c >= 0x40 && c <= 0x7e;
}

/* The length in bytes of the colour at @text, "\x1b[1;31m"; 0: there is none. */
static size_t colour_at(const char *text)
{
	size_t n = 2;

	if (text[0] != '\033' || text[1] != '[')
		return 0;
	while (text[n] && !is_colour_end(text[n]))
		n++;
	return text[n] ? n + 1 : n;
}

/*
 * Columns of a character, or more: a line may be too short, but never wraps. Scripts up to U+10FF,
 * punctuation and line drawing are narrow. The rest may be wide (CJK, emoji).
 */
static size_t width_of_character(uint32_t c)
{
	return c < 0x1100 || (c >= 0x2000 && c < 0x2e80) ? 1 : 2;
}

/* Append the line at @text, @columns wide at most. Returns its length in bytes, without the end. */
static size_t put_screen_line(struct strbuf *to, const char *text, size_t columns, const char *more)
{
	const size_t length = strcspn(text, "\n");
	size_t used = 0;
	size_t last = to->n; /* where the last column begins */

	for (size_t i = 0, n; i < length; i += n) {
		uint32_t c = 0;

		n = colour_at(text + i);
		if (n == 0) {
			n = utf8_at((const unsigned char *)text + i, &c);
			n = n ? n : 1;
			used += width_of_character(c);
		}
		if (used > columns) {
			to->n = last;
			strbuf_puts(to, more);
			break;
		}
		strbuf_put(to, text + i, n);
		if (used < columns)
			last = to->n;
	}
	return length;
}

void screen_put_head(struct strbuf *to, const struct screen_head *head, size_t columns)
{
	cleanup_strbuf struct strbuf what = {}, line = {};

	escape_put(&what, head->what, false);
	strbuf_puts(&line, "   ");
	put_elapsed(&line, head->elapsed_ns);
	strbuf_puts(&line, "   ");
	put_grouped(&line, head->hits);
	strbuf_printf(&line, " hit%s (", text_plural(head->hits));
	put_grouped(&line, (uint64_t)(head->hits_per_s + 0.5));
	strbuf_puts(&line, "/s)   ");
	put_grouped(&line, head->rows);
	strbuf_printf(&line, " row%s   lost ", text_plural(head->rows));
	put_grouped(&line, head->lost);
	if (head->is_paused)
		strbuf_puts(&line, "   [paused]");

	/* A pattern gives way to the numbers, which are in ASCII: losses must be seen. */
	const size_t room = columns > line.n ? columns - line.n : 0;

	if (room)
		(void)put_screen_line(to, what.text, room, ">");
	(void)put_screen_line(to, room ? line.text : line.text + strspn(line.text, " "), columns,
			      ">");
}

/* Skip @n lines; fewer if the text ends. */
static const char *skip_lines(const char *text, size_t n)
{
	for (; n > 0 && *text; n--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; n++)
		text = skip_lines(text, 1);
	return n;
}

/* "3 messages, the last one: stackcount: ...". All of them come when the view ends. */
static void put_screen_message(struct strbuf *to, const struct screen_head *head, size_t columns)
{
	cleanup_strbuf struct strbuf line = {};

	if (head->n_messages > 1)
		strbuf_printf(&line, "%zu messages, the last one: ", head->n_messages);
	strbuf_puts(&line, head->message);
	strbuf_puts(to, "\r\n");
	(void)put_screen_line(to, line.text, columns, ">");
	strbuf_puts(to, PLAIN ERASE_LINE);
}

size_t screen_put(struct strbuf *to, const struct screen_head *head, const char *text, size_t first,
		  const struct screen_size *size, bool is_ascii)
{
	const size_t n_lines = count_lines(text);
	const size_t n_below = head->message && size->lines > 3 ? 2 : 1;
	const size_t room = size->lines > 1 + n_below ? size->lines - 1 - n_below : 0;
	const size_t last_first = n_lines > room ? n_lines - room : 0;

	first = first < last_first ? first : last_first;

	const char *at = skip_lines(text, first);

	strbuf_puts(to, HOME REVERSE);
	screen_put_head(to, head, size->columns);
	strbuf_puts(to, ERASE_LINE PLAIN);
	for (size_t line = 0; line < room; line++) {
		strbuf_puts(to, "\r\n");
		if (*at) {
			at += put_screen_line(to, at, size->columns, is_ascii ? ">" : "\u2026");
			at += *at == '\n';
		}
		strbuf_puts(to, PLAIN ERASE_LINE);
	}
	if (n_below > 1)
		put_screen_message(to, head, size->columns);
	if (size->lines > 1) {
		strbuf_puts(to, "\r\n" REVERSE);
		(void)put_screen_line(to, keys, size->columns, ">");
		strbuf_puts(to, ERASE_LINE PLAIN);
	}
	strbuf_puts(to, ERASE_REST);
	return first;
}
