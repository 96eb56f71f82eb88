/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/event_text.h - the text of an event's time and value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tool/day_clock.h"

#define EVENT_TIME_SIZE 32
#define EVENT_NUMBER_SIZE 24

enum event_time_form {
	EVENT_TIME_MONOTONIC,  /* 42005557.056332998 */
	EVENT_TIME_SINCE_1970, /* 1795269282.000000001 */
	EVENT_TIME_OF_DAY,     /* 14:02:11.056332998 */
};

/* Zeroed, it writes times as EVENT_TIME_MONOTONIC. */
struct event_clock {
	enum event_time_form form;
	struct day_clock day; /* for the other forms */
	time_t second;        /* the time in @clock */
	char clock[16];
};

/* Write @ns of CLOCK_MONOTONIC up to the end of @to. Returns its beginning. */
const char *event_time_text(struct event_clock *c, uint64_t ns, char to[EVENT_TIME_SIZE]);

/* The digits of @number. Returns @to. */
const char *event_number_text(int64_t number, bool is_unsigned, char to[EVENT_NUMBER_SIZE]);
