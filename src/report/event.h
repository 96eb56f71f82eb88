/*
 * report/event.h - a single event's bytes. Pure: no clock, no kernel.
 *
 * What depends on the stacks alone is made once, as a template; an event is its template
 * with what is its own put in. Text, as the classic stacksnoop lays it out:
 *
 *	42005557.056332998 sync         22352  1                                    with -v
 *	42005557.056332998 sync         22352  1   ip: ffffffff81280461 ext4_sync_fs
 *	42005557.056332998 sync         22352  1   r0: ffffffff811ed7f9 iterate_supers
 *	42005557.056332998 sync         22352  1   u0: 7f9cafbeee97     sync
 *
 * Folded, a line per event: command, user frames, kernel frames, outermost first:
 *
 *	sync;main;sync;entry_SYSCALL_64;iterate_supers;ext4_sync_fs 1
 *
 * JSON, an object per line; a frame without a name has none:
 *
 *	{"time":42005557.056332998,"comm":"sync","pid":22352,"tid":22352,"cpu":1,"kernel":[
 *	 {"addr":"0xffffffff81280461","name":"ext4_sync_fs","offset":0,"module":"ext4"}],"user":[]}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/writer.h"
#include "symbolize/frame.h"

enum event_form { EVENT_TEXT, EVENT_FOLDED, EVENT_JSON };

struct event_style {
	enum event_form form;
	bool offsets; /* -s */
	bool verbose; /* -v: command, PID and CPU; the place of what has no name */
};

/* Numbers of frames, innermost first. */
struct event_stacks {
	const uint32_t *kernel;
	uint32_t n_kernel;
	const uint32_t *user;
	uint32_t n_user;
};

/* What an event has besides. Strings are lent, and not yet escaped. */
struct event_head {
	const char *time; /* as it is to be shown */
	const char *comm;
	uint32_t pid, tid, cpu;
};

/* "TIME(s)            STACK" and its newline. */
void event_put_header(struct strbuf *to, const struct event_style *style);

/* Append the template for @stacks. */
void event_put_template(struct strbuf *to, const struct event_style *style,
			const struct frame_table *frames, const struct event_stacks *stacks);

/* Write an event by its template of @n bytes. */
void event_render(struct writer *w, const struct event_style *style, const struct event_head *head,
		  const char *template, size_t n);
