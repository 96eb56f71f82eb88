// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One line per stack, in the format of flame graph tools. The process comes first (with -P). Then
 * come user frames, a "-" (with -d), and kernel frames, each outermost first. The count is last.
 *
 *	tar;_start;main;__read;-;entry_SYSCALL_64;ksys_read;vfs_read 42
 *
 * A line is parts joined by ';', a blank and the count. No part is empty, and the count follows the
 * last blank. A line without any part has "[no stack]" instead. A part "-" is the delimiter, never
 * a name.
 *
 * A line of a difference has two counts, before and after the change. difffolded.pl makes such
 * lines, and flamegraph.pl draws them:
 *
 *	main;parse 30 10
 *
 * Like bcc's, profile leaves out the "-" if there is one stack only, and puts "_[k]" behind names
 * of kernel frames (with -a).
 *
 * Two things differ from bcc. Without -P, bcc begins the line with an empty part. It also ignores
 * -s and -v: here -s shows offsets, and -v shows the places of frames without a name. Addresses
 * and the time do not fit this format.
 */
#include "base/cleanup.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

/* A line that is being written. */
struct line {
	struct writer *w;
	struct labels *labels;
	bool is_begun;
};

static void put_folded_part(struct line *line, const char *text, size_t n)
{
	if (line->is_begun)
		writer_put(line->w, ";", 1);
	line->is_begun = true;
	writer_put(line->w, text, n);
}

/* Stacks are stored innermost first, as they were walked. */
static void put_folded_frames(struct line *line, const uint32_t *frames, size_t n,
			      bool is_annotated)
{
	for (size_t i = n; i-- > 0;) {
		size_t length;
		const char *label = labels_get(line->labels, frames[i], &length);

		put_folded_part(line, label, length);
		if (is_annotated)
			writer_puts(line->w, "_[k]");
	}
}

static void put_folded_stack(struct line *line, const struct profile_stack *stack,
			     const struct render_style *style, bool is_difference)
{
	struct strbuf *scratch = &line->w->scratch;

	line->is_begun = false;
	if (style->per_process) {
		strbuf_clear(scratch);
		label_put_comm(scratch, stack->comm, LABEL_FOLDED);
		put_folded_part(line, scratch->text, scratch->n);
	}
	if (stack->n_user)
		put_folded_frames(line, stack->frames + stack->n_kernel, stack->n_user, false);
	if (style->delimited && (!style->of_profile || (stack->n_user && stack->n_kernel)))
		put_folded_part(line, "-", 1);
	put_folded_frames(line, stack->frames, stack->n_kernel, style->annotated);
	if (!line->is_begun)
		writer_puts(line->w, "[no stack]");
	writer_put(line->w, " ", 1);
	if (is_difference) {
		writer_put_i64(line->w, stack->count_before);
		writer_put(line->w, " ", 1);
		writer_put_i64(line->w, stack->count);
	} else {
		writer_put_i64(line->w, stack->count);
	}
	writer_put(line->w, "\n", 1);
}

int render_folded(const struct profile *p, const struct render_style *style, render_write *write,
		  void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	cleanup(labels_fini) struct labels labels;

	labels_init(&labels, &p->frames, style, LABEL_FOLDED);

	struct line line = { .w = w, .labels = &labels };

	for (size_t i = 0; i < p->n_stacks && !w->result; i++)
		put_folded_stack(&line, &p->stacks[i], style, p->is_difference);
	return writer_finish(w);
}
