// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/live.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* ECMA-48: to the first column of the first line; erase to the end of the line, of the screen. */
#define HOME "\x1b[H"
#define ERASE_LINE "\x1b[K"
#define ERASE_REST "\x1b[J"
#define PLAIN "\x1b[m"

int live_check(struct error *e)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return error_set(e, -ENOTTY, "--live: standard output must be a terminal");
	if (!kind || strcmp(kind, "dumb") == 0)
		return error_set(e, -EINVAL, "--live: the terminal '%s' cannot move its cursor",
				 kind ? kind : "");
	return 0;
}

/*
 * Columns of a character, or more: a line may be too short, but never wraps. Scripts up to U+10FF,
 * punctuation and line drawing are narrow. The rest may be wide (CJK, emoji).
 */
static size_t width_of_character(uint32_t c)
{
	if (c == '\t')
		return 8;
	return c < 0x1100 || (c >= 0x2000 && c < 0x2e80) ? 1 : 2;
}

/* Append the line at @text, @columns wide at most. Returns the next line. */
static const char *put_live_line(struct strbuf *to, const char *text, size_t columns)
{
	const char *end = strchrnul(text, '\n');
	size_t used = 0, n;

	strbuf_puts(to, ERASE_LINE);
	for (; text < end; text += n) {
		uint32_t c = 0;

		if (*text == '\x1b') {
			n = strcspn(text, "m") + 1;
		} else {
			n = utf8_at((const unsigned char *)text, &c);
			n = n ? n : 1;
			used += width_of_character(c);
		}
		if (used > columns)
			break;
		strbuf_put(to, text, n);
	}
	strbuf_puts(to, PLAIN);
	return *end ? end + 1 : end;
}

void live_put(struct strbuf *to, const char *text, size_t columns, size_t lines)
{
	size_t n = 0;
	char rest[64];

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	strbuf_puts(to, HOME);
	for (size_t i = 0; i < n && i < lines; i++) {
		if (i + 1 == lines && n > lines) {
			(void)snprintf(rest, sizeof(rest), "[%zu lines are not shown]", n - i);
			text = rest;
		}
		text = put_live_line(to, text, columns);
		if (i + 1 < lines)
			strbuf_puts(to, "\n");
	}
	if (n < lines) /* in the last column, this would erase a character */
		strbuf_puts(to, ERASE_REST);
}

struct winsize live_size(void)
{
	struct winsize size = {};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		return (struct winsize){ .ws_col = 80, .ws_row = 24 };
	return size;
}

int live_draw(struct output *o, const char *text, struct error *e)
{
	cleanup_strbuf struct strbuf picture = {};
	const struct winsize size = live_size();

	live_put(&picture, text, size.ws_col, size.ws_row);
	return output_put(o, picture.text, picture.n, e);
}

int live_end(struct output *o, struct error *e)
{
	return output_put(o, HOME ERASE_REST, strlen(HOME ERASE_REST), e);
}
