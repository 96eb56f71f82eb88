// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/live.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"

/* --- the line of progress --- */

#define EVERY_NS NS_PER_S

/* To the begin of the line, and erase it. */
#define ERASE "\r\033[K"

void progress_begin(struct progress *p, uint64_t now, bool is_quiet)
{
	const char *terminal = getenv("TERM");

	*p = (struct progress){ .is_on = !is_quiet && isatty(STDERR_FILENO) && terminal &&
					 strcmp(terminal, "dumb") != 0,
				.begin_ns = now,
				.last_ns = now };
	p->due_ns = p->is_on ? now + EVERY_NS : UINT64_MAX;
	if (p->is_on)
		log_begin_with(ERASE);
}

/* How long a line may be. One that wraps could not be erased: its first part would stay. */
static int room_of_line(void)
{
	struct winsize size = {};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return INT_MAX;
	return size.ws_col - 1;
}

void progress_put(struct progress *p, uint64_t now, const struct progress_numbers *numbers,
		  int room, char line[PROGRESS_SIZE])
{
	const double seconds = (double)(now - p->last_ns) / NS_PER_S;
	const uint64_t new_hits = numbers->hits - p->last_hits;
	const unsigned long long elapsed = (now - p->begin_ns) / NS_PER_S;
	const int n = snprintf(
		line, PROGRESS_SIZE, "%llu s, %llu hit%s, %.0f/s, %llu row%s, %llu lost", elapsed,
		(unsigned long long)numbers->hits, text_plural(numbers->hits),
		seconds > 0 ? (double)new_hits / seconds : 0, (unsigned long long)numbers->rows,
		text_plural(numbers->rows), (unsigned long long)numbers->lost);

	if (n > room) /* losses come first, because the rest may be cut */
		(void)snprintf(line, PROGRESS_SIZE, "%llu lost, %llu hit%s, %llu s",
			       (unsigned long long)numbers->lost, (unsigned long long)numbers->hits,
			       text_plural(numbers->hits), elapsed);
	p->last_ns = now;
	p->last_hits = numbers->hits;
}

void progress_say(struct progress *p, const char *text)
{
	if (!p->is_on)
		return;
	(void)fprintf(stderr, ERASE "%.*s", room_of_line(), text);
	(void)fflush(stderr);
	p->is_shown = true;
}

void progress_show(struct progress *p, uint64_t now, const struct progress_numbers *numbers)
{
	char line[PROGRESS_SIZE];

	progress_put(p, now, numbers, room_of_line(), line);
	progress_say(p, line);
	p->due_ns = now + EVERY_NS;
}

void progress_clear(struct progress *p)
{
	if (p->is_shown)
		(void)fputs(ERASE, stderr);
	p->is_shown = false;
}

/* --- --live --- */

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
	return c == '\t' ? 8 : c < 0x1100 || (c >= 0x2000 && c < 0x2e80) ? 1 : 2;
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
