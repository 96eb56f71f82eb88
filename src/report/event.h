/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/event.h - the bytes of a single event. Pure: no clock, no kernel.
 *
 * Many events have the same stacks, so the caller makes the bytes of the stacks once, as a
 * template. Rendering an event adds its head: time, command, numbers. event.c has samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "profile/profile.h"
#include "report/label.h"
#include "report/writer.h"

struct event_style {
	struct label_style
		label; /* LABEL_TEXT or LABEL_FOLDED. Places: command, PID and CPU, too */
	bool is_json;  /* @label does not matter */
	/* By event_set_value(): */
	uint32_t value_columns;                          /* of text; 0: events have no value */
	char title[TEXT_UNIT_BYTES + sizeof("VALUE()")]; /* "VALUE(bytes)", "VALUE(ns)", "VALUE" */
	const char *unit; /* of the value, as pprof has it; NULL: none is known */
};

/* An event without its stack. Borrows its strings, which are not escaped yet. */
struct event_head {
	const char *time; /* ready to print */
	const char *comm;
	uint32_t pid, tid, cpu;
	const char *value; /* its digits; NULL: this event has none */
};

/* Events have a value in @unit (may be NULL), which must outlive @style. */
void event_set_value(struct event_style *style, const char *unit);

/* Append the header of text, with its newline: "TIME(s)            STACK". */
void event_put_header(struct strbuf *to, const struct event_style *style);

/* Append the template for the frames of @stack, which are numbers in @frames. */
void event_put_template(struct strbuf *to, const struct event_style *style,
			const struct frame_table *frames, const struct profile_stack *stack);

/* Write an event: @head, and its stack by @template of @n bytes. As writer_goes_on(). */
bool event_render(struct writer *w, const struct event_style *style, const struct event_head *head,
		  const char *template, size_t n);
