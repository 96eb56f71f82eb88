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
#include <string.h>

#include "base/cleanup.h"
#include "profile/changes.h"
#include "report/escape.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

/* --- members --- */

/* ,"key":"text". Nothing without a text. */
static void put_json_member(struct writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	writer_puts(w, key);
	json_put_string(writer_scratch(w), text);
	writer_put_scratch(w);
}

static void put_text_or_null(struct writer *w, const char *key, const char *text)
{
	put_json_member(w, key, text);
	if (!text) {
		writer_puts(w, key);
		writer_puts(w, "null");
	}
}

static void put_u64(struct writer *w, const char *key, uint64_t number)
{
	writer_puts(w, key);
	writer_put_u64(w, number);
}

static void put_i64(struct writer *w, const char *key, int64_t number)
{
	writer_puts(w, key);
	writer_put_i64(w, number);
}

/* --- the head --- */

static void put_about(struct writer *w, const char *member, const struct profile_about *about)
{
	writer_puts(w, member);
	put_text_or_null(w, ":{\"program\":", about->program);
	put_text_or_null(w, ",\"command_line\":", about->command_line);
	put_text_or_null(w, ",\"host\":", about->host);
	put_text_or_null(w, ",\"kernel\":", about->kernel);
	put_u64(w, ",\"begin_ns\":", about->begin_ns);
	put_u64(w, ",\"duration_ns\":", about->duration_ns);
	writer_puts(w, ",\"cost_ns\":");
	if (about->cost_ns > 0 && about->cost_ns < 1e18)
		strbuf_printf(writer_scratch(w), "%.3f}", about->cost_ns);
	else
		strbuf_puts(writer_scratch(w), "null}");
	writer_put_scratch(w);
}

static void put_values(struct writer *w, const struct profile *p)
{
	writer_puts(w, ",\"values\":[");
	for (size_t i = 0; i < p->n_values; i++) {
		put_text_or_null(w, i ? ",{\"name\":" : "{\"name\":", p->values[i].name);
		put_text_or_null(w, ",\"unit\":", p->values[i].unit);
		writer_puts(w, "}");
	}
	put_i64(w, "],\"total\":", p->total);
	if (p->is_difference)
		put_i64(w, ",\"is_difference\":true,\"total_before\":", p->total_before);
	put_u64(w, ",\"hidden\":{\"stacks\":", p->n_hidden);
	put_i64(w, ",\"count\":", p->hidden);
	if (p->is_difference)
		put_i64(w, ",\"before\":", p->hidden_before);
	writer_puts(w, "}");
}

static void put_losses_and_slices(struct writer *w, const struct profile *p)
{
	writer_puts(w, ",\"losses\":[");
	for (size_t i = 0; i < p->n_losses; i++) {
		put_json_member(w, i ? ",{\"reason\":" : "{\"reason\":", p->losses[i].reason);
		put_u64(w, ",\"count\":", p->losses[i].n);
		writer_puts(w, "}");
	}
	writer_puts(w, "],\"slices\":[");
	for (size_t i = 0; i < p->n_slices && !w->result; i++) {
		put_u64(w, i ? ",{\"begin_ns\":" : "{\"begin_ns\":", p->slices[i].begin_ns);
		put_u64(w, ",\"end_ns\":", p->slices[i].end_ns);
		writer_puts(w, "}");
	}
	writer_puts(w, "]");
}

/* --- frames --- */

static void put_images(struct writer *w, const struct frame_table *table)
{
	writer_puts(w, ",\"images\":[");
	for (size_t i = 0; i < table->n_images && !w->result; i++) {
		const struct frame_image *image = &table->images[i];

		put_text_or_null(w, i ? ",{\"path\":" : "{\"path\":", image->path);
		put_json_member(w, ",\"build_id\":", image->build_id);
		if (image->limit) {
			put_u64(w, ",\"start\":", image->start);
			put_u64(w, ",\"limit\":", image->limit);
			put_u64(w, ",\"offset\":", image->offset);
		}
		writer_puts(w, "}");
	}
	writer_puts(w, "]");
}

static const char *const kind_names[] = { [FRAME_KERNEL] = "kernel",
					  [FRAME_USER] = "user",
					  [FRAME_UNVERIFIED] = "unverified",
					  [FRAME_CUT] = "cut" };

static const char *const code_names[] = {
	[CODE_NATIVE] = NULL, [CODE_JIT] = "jit", [CODE_GO] = "go"
};

static void put_code(struct writer *w, const struct frame *frame)
{
	put_json_member(w, ",\"raw_name\":", frame->raw_name);
	put_json_member(w, ",\"code\":", code_names[frame->code]);
	if (frame->module && frame->module_offset != NO_OFFSET)
		put_u64(w, ",\"module_offset\":", frame->module_offset);
	if (frame->image != NO_IMAGE) {
		put_u64(w, ",\"image\":", frame->image);
		put_u64(w, ",\"file_offset\":", frame->file_offset);
	}
	put_u64(w, ",\"addr\":", frame->addr);
	if (frame->offset != NO_OFFSET)
		put_u64(w, ",\"offset\":", frame->offset);
	if (frame->file) {
		put_json_member(w, ",\"file\":", frame->file);
		put_u64(w, ",\"line\":", frame->line);
	}
	if (frame->is_inlined)
		writer_puts(w, ",\"inlined\":true");
}

static void put_frames(struct writer *w, const struct frame_table *table)
{
	writer_puts(w, ",\"frames\":[");
	for (size_t i = 0; i < table->n && !w->result; i++) {
		const struct frame *frame = &table->frames[i];

		put_json_member(w, i ? ",{\"kind\":" : "{\"kind\":", kind_names[frame->kind]);
		if (has_text(frame->name))
			put_json_member(w, ",\"name\":", frame->name);
		put_json_member(w, ",\"module\":", frame->module);
		if (!frame_is_mark(frame))
			put_code(w, frame);
		writer_puts(w, "}");
	}
	writer_puts(w, "]");
}

/* --- stacks --- */

static void put_stack_values(struct writer *w, const char *key, int64_t first, const int64_t *more,
			     size_t n_more)
{
	put_i64(w, key, first);
	for (size_t i = 0; i < n_more; i++)
		put_i64(w, ",", more ? more[i] : 0);
	writer_puts(w, "]");
}

static void put_frame_numbers(struct writer *w, const char *key, const uint32_t *frames, size_t n)
{
	writer_puts(w, key);
	for (size_t i = 0; i < n; i++) {
		if (i)
			writer_put(w, ",", 1);
		writer_put_u64(w, frames[i]);
	}
	writer_put(w, "]", 1);
}

/* Puts the parts of stack @number from *@part on. */
static void put_stack_slices(struct writer *w, const struct profile *p, size_t number, size_t *part)
{
	const char *before = ",\"slices\":[[";

	for (; *part < p->n_parts && p->parts[*part].stack == number; ++*part) {
		put_u64(w, before, p->parts[*part].slice);
		put_i64(w, ",", p->parts[*part].count);
		before = "],[";
	}
	if (*before == ']')
		writer_puts(w, "]]");
}

static void put_json_stack(struct writer *w, const struct profile *p, size_t number, size_t *part)
{
	const struct profile_stack *stack = &p->stacks[number];

	writer_puts(w, number ? ",{" : "{");
	put_stack_values(w, "\"values\":[", stack->count, stack->more, p->n_values - 1);
	if (p->is_difference)
		put_stack_values(w, ",\"before\":[", stack->count_before, stack->more_before,
				 p->n_values - 1);
	put_frame_numbers(w, ",\"kernel\":[", stack->frames, stack->n_kernel);
	put_frame_numbers(w, ",\"user\":[", stack->frames + stack->n_kernel, stack->n_user);
	if (stack->pid)
		put_u64(w, ",\"pid\":", stack->pid);
	put_json_member(w, ",\"comm\":", stack->comm);
	put_stack_slices(w, p, number, part);
	writer_puts(w, "}");
}

/* --- the functions that changed --- */

/* A '<' could begin a tag of a page. JSON has it in strings only, where it may be an escape. */
static void put_without_tags(struct writer *w, const char *key, const char *text)
{
	struct strbuf *string = writer_scratch(w);

	writer_puts(w, key);
	if (text)
		json_put_string(string, text);
	else
		strbuf_puts(string, "null");
	for (const char *at = string->text, *end; *at; at = end) {
		end = at + strcspn(at, "<");
		writer_put(w, at, (size_t)(end - at));
		if (*end) {
			writer_puts(w, "\\u003c");
			end++;
		}
	}
}

static void put_changed_value(struct writer *w, const char *key, const struct changed_value *v)
{
	put_i64(w, key, v->before);
	put_i64(w, ",\"after\":", v->after);
	writer_puts(w, ",\"beyond_noise\":");
	writer_puts(w, v->is_beyond_noise ? "true}" : "false}");
}

static void put_json_change(struct writer *w, const struct change *change)
{
	const struct label_style style = { .form = LABEL_TREE };
	const struct frame *frame = change->frame;
	cleanup_strbuf struct strbuf label = {};

	label_put(&label, &style, frame);
	put_without_tags(w, "{\"name\":", has_text(frame->name) ? frame->name : NULL);
	put_without_tags(w, ",\"module\":", frame->module);
	put_json_member(w, ",\"kind\":", frame->kind == FRAME_KERNEL ? "kernel" : "user");
	put_without_tags(w, ",\"label\":", label.text);
	put_changed_value(w, ",\"self\":{\"before\":", &change->self);
	put_changed_value(w, ",\"total\":{\"before\":", &change->total);
	writer_puts(w, "}");
}

void changes_put_json(struct writer *w, const struct changes *c, size_t most)
{
	put_json_member(w, "{\"basis\":", c->n_after ? "slices" : "none");
	put_u64(w, ",\"n_before\":", c->n_before);
	put_u64(w, ",\"n_after\":", c->n_after);
	writer_puts(w, ",\"normalized\":");
	writer_puts(w, c->of->is_normalized ? "true" : "false");
	writer_puts(w, ",\"functions\":[");
	for (size_t i = 0; i < c->n && i < most && !w->result; i++) {
		writer_puts(w, i ? "," : "");
		put_json_change(w, &c->rows[i]);
	}
	writer_puts(w, "]}");
}

/* --- the whole --- */

int render_json(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	size_t part = 0;

	writer_puts(w, "{\"version\":1,");
	put_about(w, "\"about\"", &p->about);
	if (p->is_difference)
		put_about(w, ",\"about_before\"", &p->about_before);
	put_values(w, p);
	put_losses_and_slices(w, p);
	put_images(w, &p->frames);
	put_frames(w, &p->frames);
	writer_puts(w, ",\"stacks\":[");
	for (size_t i = 0; i < p->n_stacks && !w->result; i++)
		put_json_stack(w, p, i, &part);
	writer_puts(w, "]");
	if (p->is_difference && !w->result) {
		writer_puts(w, ",\"changes\":");
		changes_put_json(w, style->changes, SIZE_MAX);
	}
	writer_puts(w, "}\n");
	return writer_flush(w);
}
