// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * As text, in the layout of the classic stacksnoop, each line begins with the time. With -v,
 * command, PID and CPU follow it:
 *
 *	42005557.056332998 sync         22352  1
 *	42005557.056332998 sync         22352  1   ip: ffffffff81280461 ext4_sync_fs
 *	42005557.056332998 sync         22352  1   r0: ffffffff811ed7f9 iterate_supers
 *	42005557.056332998 sync         22352  1   u0: 7f9cafbeee97     sync
 *
 * Folded, a line per event: command, user frames, kernel frames, outermost first:
 *
 *	sync;main;sync;entry_SYSCALL_64;iterate_supers;ext4_sync_fs 1
 *
 * With a value, text has it behind these columns, and folded lines have it in the place of the 1:
 *
 *	42005557.056332998 sync         22352  1   4096         ip: ffffffff81280461 ext4_sync_fs
 *
 * JSON, an object per line (here broken in two). A frame without a name has no member "name". A
 * mark is {"cut":"depth"} or {"unverified":"frame pointers"}. "cpu":1 may be followed by a value,
 * as "value":4096,"unit":"bytes", where an event without one has null:
 *
 *	{"time":42005557.056332998,"comm":"sync","pid":22352,"tid":22352,"cpu":1,"kernel":[
 *	 {"addr":"0xffffffff81280461","name":"ext4_sync_fs","offset":0,"module":"ext4"}],"user":[]}
 */
#include "report/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/label.h"
#include "report/writer.h"

#define FEWEST_VALUE_COLUMNS 12

void event_set_value(struct event_style *style, const char *unit)
{
	const char *shown = amount_short_unit(unit);
	const bool has_unit = shown && text_is_unit(shown);
	const int n = snprintf(style->title, sizeof(style->title), "VALUE%s%s%s",
			       has_unit ? "(" : "", has_unit ? shown : "", has_unit ? ")" : "");

	style->unit = unit;
	style->value_columns = n < FEWEST_VALUE_COLUMNS ? FEWEST_VALUE_COLUMNS : (uint32_t)n;
}

void event_put_header(struct strbuf *to, const struct event_style *style)
{
	strbuf_printf(to, "%-18s ", "TIME(s)");
	if (style->label.places)
		strbuf_printf(to, "%-12s %-6s %-3s ", "COMM", "PID", "CPU");
	if (style->value_columns)
		strbuf_printf(to, "%-*s ", (int)style->value_columns, style->title);
	strbuf_puts(to, "STACK\n");
}

/* --- text --- */

/* "r0: ffffffff811ed7f9 iterate_supers" */
static void put_event_lines(struct strbuf *to, const struct event_style *style,
			    const struct frame_table *frames, const struct profile_stack *stack)
{
	for (uint32_t i = 0; i < stack->n_kernel + stack->n_user; i++) {
		const struct frame *frame = &frames->frames[stack->frames[i]];

		if (i == 0 && stack->n_kernel)
			strbuf_puts(to, "ip: ");
		else if (i < stack->n_kernel)
			strbuf_printf(to, "r%u: ", i - 1);
		else
			strbuf_printf(to, "u%u: ", i - stack->n_kernel);
		label_put_address(to, frame);
		label_put(to, &style->label, frame);
		strbuf_putc(to, '\n');
	}
}

/* --- folded --- */

static void put_label_parts(struct strbuf *to, const struct event_style *style,
			    const struct frame_table *frames, const uint32_t *numbers, uint32_t n)
{
	while (n-- > 0) {
		strbuf_putc(to, ';');
		label_put(to, &style->label, &frames->frames[numbers[n]]);
	}
}

/* --- JSON --- */

static void put_json_frame(struct strbuf *to, const struct frame *frame)
{
	const char *name = has_text(frame->name) ? frame->name : NULL;
	const char *module = has_text(frame->module) ? frame->module : NULL;

	if (frame_is_mark(frame)) {
		put_json_member(to, frame->kind == FRAME_CUT ? "{\"cut\":" : "{\"unverified\":",
				name ? name : "unknown");
		strbuf_putc(to, '}');
		return;
	}
	strbuf_printf(to, "{\"addr\":\"0x%" PRIx64 "\"", frame->addr);
	put_json_member(to, ",\"name\":", name);
	if ((name && !frame->is_inlined) || frame->has_start)
		member_u64(to, ",\"offset\":", frame->offset);
	put_json_member(to, ",\"module\":", module);
	if (module && !name)
		member_u64(to, ",\"module_offset\":", frame->module_offset);
	put_json_member(to, ",\"file\":", frame->file);
	if (frame->file)
		member_u64(to, ",\"line\":", frame->line);
	if (frame->is_inlined)
		strbuf_puts(to, ",\"inlined\":true");
	strbuf_putc(to, '}');
}

static void put_json_frames(struct strbuf *to, const struct frame_table *frames,
			    const uint32_t *numbers, uint32_t n)
{
	strbuf_putc(to, '[');
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_putc(to, ',');
		put_json_frame(to, &frames->frames[numbers[i]]);
	}
	strbuf_putc(to, ']');
}

/* --- all --- */

void event_put_template(struct strbuf *to, const struct event_style *style,
			const struct frame_table *frames, const struct profile_stack *stack)
{
	const uint32_t *user = stack->frames + stack->n_kernel;

	if (style->is_json) {
		strbuf_puts(to, ",\"kernel\":");
		put_json_frames(to, frames, stack->frames, stack->n_kernel);
		strbuf_puts(to, ",\"user\":");
		put_json_frames(to, frames, user, stack->n_user);
		strbuf_puts(to, "}\n");
	} else if (style->label.form == LABEL_FOLDED) {
		put_label_parts(to, style, frames, user, stack->n_user);
		put_label_parts(to, style, frames, stack->frames, stack->n_kernel);
		strbuf_puts(to, style->value_columns ? "" : " 1\n");
	} else {
		put_event_lines(to, style, frames, stack);
	}
}

/* Columns are left-aligned, with one blank at least behind each. */
static void put_text_column(struct strbuf *to, const char *text, size_t width)
{
	const size_t end = to->n + width;

	escape_put_name(to, text, false);
	do
		strbuf_putc(to, ' ');
	while (to->n <= end);
}

static void put_columns(struct strbuf *to, const struct event_style *style,
			const struct event_head *head)
{
	put_text_column(to, head->time, 18);
	if (style->label.places) {
		put_text_column(to, head->comm, 12);
		strbuf_printf(to, "%-6" PRIu32 " %-3" PRIu32 " ", head->pid, head->cpu);
	}
	if (style->value_columns)
		put_text_column(to, head->value ? head->value : "-", style->value_columns);
}

/* Each line begins with the columns. */
static void render_lines(struct strbuf *to, const struct strbuf *columns, const char *lines,
			 size_t n)
{
	const char *end = lines + n;

	strbuf_put(to, columns->text, columns->n);
	strbuf_putc(to, '\n');
	while (lines < end) {
		const char *next = (const char *)memchr(lines, '\n', (size_t)(end - lines)) + 1;

		strbuf_put(to, columns->text, columns->n);
		strbuf_put(to, lines, (size_t)(next - lines));
		lines = next;
	}
}

static void put_members(struct strbuf *to, const struct event_style *style,
			const struct event_head *head)
{
	strbuf_puts(to, "{\"time\":");
	strbuf_puts(to, head->time);
	put_json_member(to, ",\"comm\":", head->comm);
	member_u64(to, ",\"pid\":", head->pid);
	member_u64(to, ",\"tid\":", head->tid);
	member_u64(to, ",\"cpu\":", head->cpu);
	if (!style->value_columns)
		return;
	strbuf_puts(to, ",\"value\":");
	strbuf_puts(to, head->value ? head->value : "null");
	put_json_member(to, ",\"unit\":", style->unit);
}

bool event_render(struct writer *w, const struct event_style *style, const struct event_head *head,
		  const char *template, size_t n)
{
	struct strbuf *to = &w->text;

	if (style->is_json) {
		put_members(to, style, head);
		strbuf_put(to, template, n);
	} else if (style->label.form == LABEL_FOLDED) {
		label_put_comm(to, head->comm, LABEL_FOLDED);
		strbuf_put(to, template, n);
		if (style->value_columns) {
			strbuf_putc(to, ' ');
			strbuf_puts(to, head->value ? head->value : "0");
			strbuf_putc(to, '\n');
		}
	} else {
		strbuf_clear(&w->scratch);
		put_columns(&w->scratch, style, head);
		render_lines(to, &w->scratch, template, n);
	}
	return writer_goes_on(w);
}
