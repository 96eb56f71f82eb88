// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file of pprof (profile.proto), packed by gzip: see profile/pprof.h. All values, frames, labels
 * and losses are in it, so that saved_read() gives the same profile again. As text, a stack is
 *
 *	sample { location_id: 1 location_id: 2 value: 42 label { key: "pid" num: 7 } }
 *	location { id: 1 mapping_id: 1 address: 0x7f3a11d1e4fb line { function_id: 1 } }
 *	function { id: 1 name: "__read" system_name: "__read" }
 *
 * A stack with slices of time is one sample for each slice, with a label "slice". A difference has
 * two samples for a stack: the one before the change has negative values and the label
 * "pprof::base". pprof has no fields for losses, command line and host. They are comments, once for
 * people and once for programs.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/pprof.h"
#include "report/gzip.h"
#include "report/pprof_frames.h"
#include "report/pprof_texts.h"
#include "report/protobuf.h"
#include "report/render.h"

struct pprof {
	const struct profile *p;
	struct proto file; /* not packed yet */
	struct pprof_texts texts;
	struct pprof_frames frames;
	struct proto ids;     /* of the stack's locations, packed */
	struct proto message; /* being made */
	struct proto inner;   /* message in it */
	size_t part;          /* next one of p->parts */
	struct proto comments;
	uint64_t pid_key, comm_key; /* numbers of texts; 0: not asked for yet */
};

static void pprof_fini(struct pprof *w)
{
	pprof_frames_fini(&w->frames);
	pprof_texts_fini(&w->texts);
	proto_fini(&w->file);
	proto_fini(&w->ids);
	proto_fini(&w->message);
	proto_fini(&w->inner);
	proto_fini(&w->comments);
}

/* Put the message as @field of the file. */
static void put_message(struct pprof *w, unsigned field)
{
	proto_bytes(&w->file, field, w->message.bytes, w->message.n);
	w->message.n = 0;
}

static void put_inner(struct pprof *w, unsigned field)
{
	proto_bytes(&w->message, field, w->inner.bytes, w->inner.n);
	w->inner.n = 0;
}

static void put_keyed_label(struct pprof *w, uint64_t key, const struct profile_label *label)
{
	proto_number(&w->inner, LABEL_KEY, key);
	if (label->text && label->text[0]) {
		proto_number(&w->inner, LABEL_STRING, pprof_text(&w->texts, label->text));
	} else if (label->text) {
		proto_number(&w->inner, LABEL_IS_TEXT, 1);
	} else {
		proto_any_number(&w->inner, LABEL_NUMBER, (uint64_t)label->number);
		proto_number(&w->inner, LABEL_UNIT, pprof_text(&w->texts, label->unit));
	}
	put_inner(w, SAMPLE_LABEL);
}

static void put_pprof_label(struct pprof *w, const struct profile_label *label)
{
	put_keyed_label(w, pprof_text(&w->texts, label->key), label);
}

static void put_pprof_labels(struct pprof *w, const struct profile_stack *stack)
{
	const struct profile_labels *set = &w->p->labels[stack->labels];

	if (stack->pid) {
		const struct profile_label pid = { .number = stack->pid };

		if (!w->pid_key)
			w->pid_key = pprof_text(&w->texts, PPROF_LABEL_PID);
		put_keyed_label(w, w->pid_key, &pid);
	}
	if (stack->comm) {
		const struct profile_label comm = { .text = stack->comm };

		if (!w->comm_key)
			w->comm_key = pprof_text(&w->texts, PPROF_LABEL_COMM);
		put_keyed_label(w, w->comm_key, &comm);
	}
	for (size_t i = 0; stack->labels && i < set->n; i++)
		put_pprof_label(w, &set->of[i]);
}

/* @further: values from number 1 on, or NULL: zeros. @label: one more, or NULL. */
static void put_pprof_sample(struct pprof *w, const struct profile_stack *stack, int64_t count,
			     const int64_t *further, const struct profile_label *label)
{
	const bool is_negative = label && label->text;
	uint8_t values[PROFILE_MOST_VALUES * PROTO_MOST_VARINT];
	uint8_t *end = proto_varint_at(values, is_negative ? -(uint64_t)count : (uint64_t)count);

	for (size_t i = 0; i + 1 < w->p->n_values; i++) {
		const uint64_t value = further ? (uint64_t)further[i] : 0;

		end = proto_varint_at(end, is_negative ? -value : value);
	}
	proto_bytes(&w->message, SAMPLE_LOCATION, w->ids.bytes, w->ids.n);
	proto_bytes(&w->message, SAMPLE_VALUE, values, (size_t)(end - values));
	if (label) /* first: of two slices, the reader takes the first one */
		put_pprof_label(w, label);
	put_pprof_labels(w, stack);
	put_message(w, PPROF_SAMPLE);
}

static void put_ids(struct pprof *w, const uint32_t *frames, size_t n, bool is_kernel_side)
{
	proto_reserve(&w->ids, n * PROTO_MOST_VARINT);

	uint8_t *to = w->ids.bytes + w->ids.n;

	for (size_t i = 0, taken; i < n; i += taken)
		to = proto_varint_at(
			to, pprof_location(&w->frames, frames + i, n - i, is_kernel_side, &taken));
	w->ids.n = (size_t)(to - w->ids.bytes);
}

/* Only hits are known for slices. The first slice has all of the other values. */
static void put_slices(struct pprof *w, size_t number)
{
	const struct profile *p = w->p;
	const struct profile_stack *stack = &p->stacks[number];
	const int64_t *further = stack->more;
	uint64_t rest = (uint64_t)stack->count;
	bool has_slice = false;

	for (; w->part < p->n_parts && p->parts[w->part].stack == number; w->part++) {
		const struct profile_part *part = &p->parts[w->part];
		/* A unit, because pprof drops a label that is 0 and has none. */
		const struct profile_label slice = { .key = PPROF_LABEL_SLICE,
						     .number = part->slice,
						     .unit = "index" };

		put_pprof_sample(w, stack, part->count, further, &slice);
		rest -= (uint64_t)part->count;
		further = NULL;
		has_slice = true;
	}
	if (rest || !has_slice)
		put_pprof_sample(w, stack, (int64_t)rest, further, NULL);
}

static bool has_stack_values(const struct profile *p, int64_t count, const int64_t *further)
{
	bool has = count;

	for (size_t i = 0; further && i + 1 < p->n_values; i++)
		has |= further[i] != 0;
	return has;
}

static void put_pprof_stack(struct pprof *w, size_t number)
{
	static const struct profile_label base = { .key = PPROF_LABEL_BASE, .text = "true" };
	const struct profile_stack *stack = &w->p->stacks[number];
	const bool was_there = w->p->is_difference &&
			       has_stack_values(w->p, stack->count_before, stack->more_before);

	w->ids.n = 0;
	if (stack->n_kernel)
		put_ids(w, stack->frames, stack->n_kernel, true);
	if (stack->n_user)
		put_ids(w, stack->frames + stack->n_kernel, stack->n_user, false);
	if (!was_there || has_stack_values(w->p, stack->count, stack->more))
		put_slices(w, number);
	if (was_there)
		put_pprof_sample(w, stack, stack->count_before, stack->more_before, &base);
}

static void put_pprof_type(struct pprof *w, unsigned field, const struct profile_value *value)
{
	proto_number(&w->message, TYPE_NAME, pprof_text(&w->texts, value->name));
	proto_number(&w->message, TYPE_UNIT, pprof_text(&w->texts, value->unit));
	put_message(w, field);
}

__attribute__((format(printf, 2, 3))) static void put_comment(struct pprof *w, const char *format,
							      ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0) {
		proto_varint(&w->comments, pprof_text_made(&w->texts, "%s", text));
		free(text);
	}
	va_end(args);
}

#define KEY(key) PPROF_COMMENT_PREFIX key "="

/* For people, as pprof -comments shows them. */
static void comment_for_people(struct pprof *w)
{
	const struct profile_about *about = &w->p->about;

	if (about->command_line)
		put_comment(w, "Command: %s", about->command_line);
	if (about->host)
		put_comment(w, "Host: %s", about->host);
	for (size_t i = 0; i < w->p->n_losses; i++) {
		const struct profile_loss *loss = &w->p->losses[i];

		if (text_is_not_paired(loss->reason))
			put_comment(w, "Not paired: %" PRIu64 " %s", loss->n,
				    loss->reason + strlen(NOT_PAIRED));
		else
			put_comment(w, "Lost: %" PRIu64 " hit%s: %s", loss->n, text_plural(loss->n),
				    loss->reason);
	}
	if (w->p->n_hidden)
		put_comment(w, "Not in this file: %zu less frequent row%s (stacks by process)",
			    w->p->n_hidden, text_plural(w->p->n_hidden));
}

static void comment_difference(struct pprof *w)
{
	const struct profile_about *before = &w->p->about_before;

	if (!w->p->is_difference)
		return;
	put_comment(w, KEY("difference") "1");
	if (w->p->is_normalized)
		put_comment(w, KEY("normalized") "1");
	if (before->begin_ns)
		put_comment(w, KEY("before-begin_ns") "%" PRIu64, before->begin_ns);
	if (before->duration_ns)
		put_comment(w, KEY("before-duration_ns") "%" PRIu64, before->duration_ns);
}

static void comment_about(struct pprof *w)
{
	const struct profile *p = w->p;
	const struct profile_about *about = &p->about;
	const struct profile_about *before = &p->about_before;
	const struct {
		const char *key, *value;
	} texts[] = {
		{ KEY("program"), about->program },
		{ KEY("command"), about->command_line },
		{ KEY("host"), about->host },
		{ KEY("kernel"), about->kernel },
		{ KEY("before-program"), before->program },
		{ KEY("before-command"), before->command_line },
		{ KEY("before-host"), before->host },
		{ KEY("before-kernel"), before->kernel },
	};

	put_comment(w, KEY("version") "1");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].value)
			put_comment(w, "%s%s", texts[i].key, texts[i].value);
	if (about->cost_ns > 0)
		put_comment(w, KEY("cost_ns") "%.17g", about->cost_ns);
	for (size_t i = 0; i < p->n_losses; i++)
		put_comment(w, KEY("loss") "%" PRIu64 " %s", p->losses[i].n, p->losses[i].reason);
	if (p->n_hidden || p->hidden)
		put_comment(w, KEY("hidden") "%" PRId64 " %zu", p->hidden, p->n_hidden);
	for (size_t i = 0; i < p->n_slices; i++)
		put_comment(w, KEY("slice") "%" PRIu64 " %" PRIu64, p->slices[i].begin_ns,
			    p->slices[i].end_ns);
	comment_difference(w);
}

static bool is_kernel(const struct pprof_mapping *m)
{
	return m->is_kernel;
}

static bool is_go(const struct pprof_mapping *m)
{
	return m->code == CODE_GO;
}

static bool is_jit(const struct pprof_mapping *m)
{
	return m->code == CODE_JIT;
}

static bool has_no_image(const struct pprof_mapping *m)
{
	return !m->image;
}

static const struct {
	const char *key;
	bool (*is)(const struct pprof_mapping *m);
} kinds_of_mappings[] = {
	{ KEY("kernel-maps"), is_kernel },
	{ KEY("go"), is_go },
	{ KEY("jit"), is_jit },
	{ KEY("no-image"), has_no_image },
};

/* "stackcount:go=3,5": ids of mappings. */
static void comment_mappings(struct pprof *w)
{
	for (size_t k = 0; k < sizeof(kinds_of_mappings) / sizeof(*kinds_of_mappings); k++) {
		cleanup_strbuf struct strbuf ids = {};

		for (size_t i = 0; i < w->frames.n_mappings; i++)
			if (kinds_of_mappings[k].is(&w->frames.mappings[i]))
				strbuf_printf(&ids, "%s%zu", ids.n ? "," : "", i + 1);
		if (ids.n)
			put_comment(w, "%s%s", kinds_of_mappings[k].key, ids.text);
	}
}

/* All that is neither sample nor frame. */
static void put_rest(struct pprof *w)
{
	const struct profile *p = w->p;
	const struct profile_about *about = &p->about;

	comment_for_people(w);
	comment_about(w);
	comment_mappings(w);
	if (about->period_type.name || about->period_type.unit)
		put_pprof_type(w, PPROF_PERIOD_TYPE, &about->period_type);
	proto_number(&w->message, PPROF_PERIOD, (uint64_t)about->period);
	proto_number(&w->message, PPROF_TIME_NS, about->begin_ns);
	proto_number(&w->message, PPROF_DURATION_NS, about->duration_ns);
	proto_bytes(&w->message, PPROF_COMMENT, w->comments.bytes, w->comments.n);
	proto_number(&w->message, PPROF_DEFAULT_TYPE, pprof_text(&w->texts, p->values[0].name));
	proto_number(&w->message, PPROF_AS_WRITTEN, 1);
	proto_put(&w->file, w->message.bytes, w->message.n);
	pprof_texts_put(&w->texts, &w->file);
}

int render_pprof(const struct profile *p, const struct render_style *style, render_write *write,
		 void *context)
{
	cleanup(pprof_fini) struct pprof w = { .p = p };

	(void)style;
	pprof_texts_init(&w.texts);
	pprof_frames_init(&w.frames, p, &w.texts);
	for (size_t i = 0; i < p->n_values; i++)
		put_pprof_type(&w, PPROF_SAMPLE_TYPE, &p->values[i]);
	for (size_t i = 0; i < p->n_stacks; i++) {
		profile_fetch_ahead(p, i);
		put_pprof_stack(&w, i);
	}
	pprof_frames_put(&w.frames, &w.file);
	put_rest(&w);
	return gzip_write(w.file.bytes, w.file.n, write, context);
}
