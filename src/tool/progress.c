// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/progress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define EVERY_NS NS_PER_S
#define NS_PER_MS (NS_PER_S / 1000)

/* To the begin of the line, and erase it. */
#define ERASE "\r\033[K"

void progress_begin(struct progress *p, uint64_t now, bool is_quiet)
{
	const char *terminal = getenv("TERM");

	*p = (struct progress){ .is_on = !is_quiet && isatty(STDERR_FILENO) && terminal &&
					 strcmp(terminal, "dumb") != 0,
				.begin_ns = now,
				.last_ns = now,
				.due_ns = now + EVERY_NS };
	if (p->is_on)
		log_begin_with(ERASE);
}

int progress_patience_ms(const struct progress *p, uint64_t now)
{
	if (!p->is_on)
		return -1;
	return now >= p->due_ns ? 0 : (int)((p->due_ns - now) / NS_PER_MS) + 1;
}

bool progress_is_due(const struct progress *p, uint64_t now)
{
	return p->is_on && now >= p->due_ns;
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
	p->due_ns = now + EVERY_NS;
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
}

void progress_clear(struct progress *p)
{
	if (p->is_shown)
		(void)fputs(ERASE, stderr);
	p->is_shown = false;
}

void progress_end(struct progress *p)
{
	progress_clear(p);
	if (p->is_on)
		log_begin_with("");
	p->is_on = false;
}
