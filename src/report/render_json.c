// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One document for a report, on one line (here on several). doc/stackcount.schema.json has the
 * schema, and stackcount(8) says what members mean:
 *
 *	{"version":1,
 *	 "about":{"program":"stackcount 1","command_line":"stackcount ...",
 *	  "host":"h","kernel":"6.1",
 *	  "begin_ns":1771000000000000000,"duration_ns":1000000000,"cost_ns":null},
 *	 "values":[{"name":"hits","unit":"count"}],
 *	 "total":12,"hidden":{"stacks":0,"count":0},
 *	 "losses":[{"reason":"no room for a new stack","count":10}],
 *	 "slices":[{"begin_ns":0,"end_ns":100}],
 *	 "images":[{"path":"/usr/bin/x","build_id":"ab12","start":1,"limit":2,"offset":0}],
 *	 "frames":[{"kind":"user","name":"main","module":"x","image":0,"addr":4198710},
 *	  {"kind":"cut","name":"depth"}],
 *	 "stacks":[{"values":[12],"kernel":[],"user":[0,1],"pid":7,"comm":"x",
 *	  "slices":[[0,12]]}]}
 *
 * Stacks have numbers of frames, innermost first, and are the least frequent first, as in the other
 * forms. Members of frames and stacks that are not known are left out. Names are complete; bytes
 * that are no UTF-8 are U+FFFD. Numbers are integers of up to 64 bits, but for cost_ns.
 *
 * A difference has "is_difference":true, "total_before", "about_before" (the earlier run), a member
 * "before" beside each "values", and "changes": the functions that changed (changes_put_json()).
 *
 * With -i, each report is a line.
 */
#include "base/memory.h"
#include "profile/changes.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

/* --- members --- */

static void put_text_or_null(struct strbuf *to, const char *key, const char *text)
{
	put_json_member(to, key, text);
	if (!text) {
		strbuf_puts(to, key);
		strbuf_puts(to, "null");
	}
}

/* --- the head --- */

static void put_about(struct strbuf *to, const char *member, const struct profile_about *about)
{
	strbuf_puts(to, member);
	put_text_or_null(to, ":{\"program\":", about->program);
	put_text_or_null(to, ",\"command_line\":", about->command_line);
	put_text_or_null(to, ",\"host\":", about->host);
	put_text_or_null(to, ",\"kernel\":", about->kernel);
	member_u64(to, ",\"begin_ns\":", about->begin_ns);
	member_u64(to, ",\"duration_ns\":", about->duration_ns);
	strbuf_puts(to, ",\"cost_ns\":");
	if (about->cost_ns > 0 && about->cost_ns < 1e18)
		strbuf_printf(to, "%.3f}", about->cost_ns);
	else
		strbuf_puts(to, "null}");
}

static void put_values(struct strbuf *to, const struct profile *p)
{
	strbuf_puts(to, ",\"values\":[");
	for (size_t i = 0; i < p->n_values; i++) {
		put_text_or_null(to, i ? ",{\"name\":" : "{\"name\":", p->values[i].name);
		put_text_or_null(to, ",\"unit\":", p->values[i].unit);
		strbuf_puts(to, "}");
	}
	member_i64(to, "],\"total\":", p->total);
	if (p->is_difference)
		member_i64(to, ",\"is_difference\":true,\"total_before\":", p->total_before);
	member_u64(to, ",\"hidden\":{\"stacks\":", p->n_hidden);
	member_i64(to, ",\"count\":", p->hidden);
	if (p->is_difference)
		member_i64(to, ",\"before\":", p->hidden_before);
	strbuf_puts(to, "}");
}

static void put_losses_and_slices(struct writer *w, const struct profile *p)
{
	struct strbuf *to = &w->text;

	strbuf_puts(to, ",\"losses\":[");
	for (size_t i = 0; i < p->n_losses; i++) {
		put_json_member(to, i ? ",{\"reason\":" : "{\"reason\":", p->losses[i].reason);
		member_u64(to, ",\"count\":", p->losses[i].n);
		strbuf_puts(to, "}");
	}
	strbuf_puts(to, "],\"slices\":[");
	for (size_t i = 0; i < p->n_slices && writer_goes_on(w); i++) {
		member_u64(to, i ? ",{\"begin_ns\":" : "{\"begin_ns\":", p->slices[i].begin_ns);
		member_u64(to, ",\"end_ns\":", p->slices[i].end_ns);
		strbuf_puts(to, "}");
	}
	strbuf_puts(to, "]");
}

/* --- frames --- */

static void put_images(struct writer *w, const struct frame_table *table)
{
	struct strbuf *to = &w->text;

	strbuf_puts(to, ",\"images\":[");
	for (size_t i = 0; i < table->n_images && writer_goes_on(w); i++) {
		const struct frame_image *image = &table->images[i];

		put_text_or_null(to, i ? ",{\"path\":" : "{\"path\":", image->path);
		put_json_member(to, ",\"build_id\":", image->build_id);
		if (image->limit) {
			member_u64(to, ",\"start\":", image->start);
			member_u64(to, ",\"limit\":", image->limit);
			member_u64(to, ",\"offset\":", image->offset);
		}
		strbuf_puts(to, "}");
	}
	strbuf_puts(to, "]");
}

static const char *const kind_names[] = { [FRAME_KERNEL] = "kernel",
					  [FRAME_USER] = "user",
					  [FRAME_UNVERIFIED] = "unverified",
					  [FRAME_CUT] = "cut" };

static void put_code(struct strbuf *to, const struct frame *frame)
{
	put_json_member(to, ",\"raw_name\":", frame->raw_name);
	put_json_member(to, ",\"code\":", frame->is_jit ? "jit" : NULL);
	if (frame->module && frame->module_offset != NO_OFFSET)
		member_u64(to, ",\"module_offset\":", frame->module_offset);
	if (frame->image != NO_IMAGE) {
		member_u64(to, ",\"image\":", frame->image);
		member_u64(to, ",\"file_offset\":", frame->file_offset);
	}
	member_u64(to, ",\"addr\":", frame->addr);
	if (frame->offset != NO_OFFSET)
		member_u64(to, ",\"offset\":", frame->offset);
	if (frame->file) {
		put_json_member(to, ",\"file\":", frame->file);
		member_u64(to, ",\"line\":", frame->line);
	}
	if (frame->is_inlined)
		strbuf_puts(to, ",\"inlined\":true");
}

static void put_frames(struct writer *w, const struct frame_table *table)
{
	struct strbuf *to = &w->text;

	strbuf_puts(to, ",\"frames\":[");
	for (size_t i = 0; i < table->n && writer_goes_on(w); i++) {
		const struct frame *frame = &table->frames[i];

		put_json_member(to, i ? ",{\"kind\":" : "{\"kind\":", kind_names[frame->kind]);
		if (has_text(frame->name))
			put_json_member(to, ",\"name\":", frame->name);
		put_json_member(to, ",\"module\":", frame->module);
		if (!frame_is_mark(frame))
			put_code(to, frame);
		strbuf_puts(to, "}");
	}
	strbuf_puts(to, "]");
}

/* --- stacks --- */

static void put_stack_values(struct strbuf *to, const char *key, int64_t first, const int64_t *more,
			     size_t n_more)
{
	member_i64(to, key, first);
	for (size_t i = 0; i < n_more; i++)
		member_i64(to, ",", more ? more[i] : 0);
	strbuf_puts(to, "]");
}

static void put_frame_numbers(struct strbuf *to, const char *key, const uint32_t *frames, size_t n)
{
	strbuf_puts(to, key);
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_putc(to, ',');
		put_u64(to, frames[i]);
	}
	strbuf_putc(to, ']');
}

/* Puts the parts of stack @number from *@part on. */
static void put_stack_slices(struct strbuf *to, const struct profile *p, size_t number,
			     size_t *part)
{
	const char *before = ",\"slices\":[[";

	for (; *part < p->n_parts && p->parts[*part].stack == number; ++*part) {
		member_u64(to, before, p->parts[*part].slice);
		member_i64(to, ",", p->parts[*part].count);
		before = "],[";
	}
	if (*before == ']')
		strbuf_puts(to, "]]");
}

static void put_json_stack(struct strbuf *to, const struct profile *p, size_t number, size_t *part)
{
	const struct profile_stack *stack = &p->stacks[number];

	strbuf_puts(to, number ? ",{" : "{");
	put_stack_values(to, "\"values\":[", stack->count, stack->more, p->n_values - 1);
	if (p->is_difference)
		put_stack_values(to, ",\"before\":[", stack->count_before, stack->more_before,
				 p->n_values - 1);
	put_frame_numbers(to, ",\"kernel\":[", stack->frames, stack->n_kernel);
	put_frame_numbers(to, ",\"user\":[", stack->frames + stack->n_kernel, stack->n_user);
	if (stack->pid)
		member_u64(to, ",\"pid\":", stack->pid);
	put_json_member(to, ",\"comm\":", stack->comm);
	put_stack_slices(to, p, number, part);
	strbuf_puts(to, "}");
}

/* --- the functions that changed --- */

static void put_changed_value(struct strbuf *to, const char *key, const struct changed_value *v)
{
	member_i64(to, key, v->before);
	member_i64(to, ",\"after\":", v->after);
	strbuf_puts(to, ",\"beyond_noise\":");
	strbuf_puts(to, v->is_beyond_noise ? "true}" : "false}");
}

static void put_json_change(struct strbuf *to, const struct change *change)
{
	const struct label_style style = { .form = LABEL_TREE };
	const struct frame *frame = change->frame;
	cleanup_strbuf struct strbuf label = {};

	label_put(&label, &style, frame);
	put_text_or_null(to, "{\"name\":", has_text(frame->name) ? frame->name : NULL);
	put_text_or_null(to, ",\"module\":", frame->module);
	put_json_member(to, ",\"kind\":", frame->kind == FRAME_KERNEL ? "kernel" : "user");
	put_text_or_null(to, ",\"label\":", label.text);
	put_changed_value(to, ",\"self\":{\"before\":", &change->self);
	put_changed_value(to, ",\"total\":{\"before\":", &change->total);
	strbuf_puts(to, "}");
}

void changes_put_json(struct writer *w, const struct changes *c, size_t most)
{
	struct strbuf *to = &w->text;

	put_json_member(to, "{\"basis\":", c->n_after ? "slices" : "none");
	member_u64(to, ",\"n_before\":", c->n_before);
	member_u64(to, ",\"n_after\":", c->n_after);
	strbuf_puts(to, ",\"normalized\":");
	strbuf_puts(to, c->of->is_normalized ? "true" : "false");
	strbuf_puts(to, ",\"functions\":[");
	for (size_t i = 0; i < c->n && i < most && writer_goes_on(w); i++) {
		strbuf_clear(&w->scratch);
		put_json_change(&w->scratch, &c->rows[i]);
		strbuf_puts(to, i ? "," : "");
		/* A '<' could begin a tag of a page. JSON has it in strings only. */
		for (const char *at = w->scratch.text; *at; at++)
			if (*at == '<')
				strbuf_puts(to, "\\u003c");
			else
				strbuf_putc(to, *at);
	}
	strbuf_puts(to, "]}");
}

/* --- the whole --- */

int render_json(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer w = { .write = write, .context = context };
	struct strbuf *to = &w.text;
	size_t part = 0;

	strbuf_puts(to, "{\"version\":1,");
	put_about(to, "\"about\"", &p->about);
	if (p->is_difference)
		put_about(to, ",\"about_before\"", &p->about_before);
	put_values(to, p);
	put_losses_and_slices(&w, p);
	put_images(&w, &p->frames);
	put_frames(&w, &p->frames);
	strbuf_puts(to, ",\"stacks\":[");
	for (size_t i = 0; i < p->n_stacks && writer_goes_on(&w); i++)
		put_json_stack(to, p, i, &part);
	strbuf_puts(to, "]");
	if (p->is_difference && !w.result) {
		strbuf_puts(to, ",\"changes\":");
		changes_put_json(&w, style->changes, SIZE_MAX);
	}
	strbuf_puts(to, "}\n");
	return writer_flush(&w);
}
