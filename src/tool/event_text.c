// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/event_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static char *put_seconds(char to[EVENT_TIME_SIZE], uint64_t ns)
{
	char *at = to + EVENT_TIME_SIZE - 1;
	uint64_t seconds = ns / NS_PER_S;
	uint32_t rest = (uint32_t)(ns % NS_PER_S);

	*at = '\0';
	for (int i = 0; i < 9; i++, rest /= 10)
		*--at = (char)('0' + rest % 10);
	*--at = '.';
	do
		*--at = (char)('0' + seconds % 10);
	while (seconds /= 10);
	return at;
}

static char *put_clock(struct event_clock *c, char to[EVENT_TIME_SIZE], uint64_t ns)
{
	const time_t second = (time_t)(ns / NS_PER_S);
	struct tm local;

	if (second != c->second || !c->clock[0]) {
		if (!strftime(c->clock, sizeof(c->clock), "%H:%M:%S", localtime_r(&second, &local)))
			c->clock[0] = '\0';
		c->second = second;
	}

	char *at = put_seconds(to, ns % NS_PER_S) - 7; /* over the single digit */

	memcpy(at, c->clock, 8);
	return at;
}

const char *event_time_text(struct event_clock *c, uint64_t ns, char to[EVENT_TIME_SIZE])
{
	switch (c->form) {
	case EVENT_TIME_SINCE_1970:
		return put_seconds(to, ns + c->day.difference_ns);
	case EVENT_TIME_OF_DAY:
		return put_clock(c, to, ns + c->day.difference_ns);
	default:
		return put_seconds(to, ns);
	}
}

const char *event_number_text(int64_t number, bool is_unsigned, char to[EVENT_NUMBER_SIZE])
{
	if (is_unsigned)
		(void)snprintf(to, EVENT_NUMBER_SIZE, "%" PRIu64, (uint64_t)number);
	else
		(void)snprintf(to, EVENT_NUMBER_SIZE, "%" PRId64, number);
	return to;
}
