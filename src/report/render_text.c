// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Text has the layout of bcc's stackcount. An empty line and the time come first. Then
 * each stack has its frames, innermost first, its process, its count, and an empty line:
 *
 *	(empty)
 *	14:02:11
 *	  ffffffff812a4b70 vfs_read          the address with -v
 *	  ffffffff812a5c1a ksys_read
 *	    --                               with -d
 *	  7f3a11d1e4fb     __read
 *	                   [cut: depth]      the outermost frames are missing
 *	    tar [15187]                      with -P
 *	    5
 *	(empty)
 *	Lost 12 hits: ...                  only if hits were lost
 *
 * Of a difference, the line of the count has both, and the functions that changed most come last:
 *
 *	    30 -> 10 (-20, -66.7%)
 *	    0 -> 5 (+5, new)
 *	    7 -> 0 (-7, gone)
 */
#include "base/cleanup.h"
#include "base/saturated.h"
#include "report/column.h"
#include "report/label.h"
#include "report/render.h"
#include "report/render_changes.h"
#include "report/render_profile.h"
#include "report/writer.h"

#define MOST_CHANGES 20

static void put_text_frames(struct writer *w, struct labels *labels, const uint32_t *frames,
			    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t length;
		const char *line = labels_get(labels, frames[i], &length);

		writer_put(w, line, length);
	}
}

static void put_process(struct writer *w, const struct profile_stack *stack, struct strbuf *scratch)
{
	strbuf_clear(scratch);
	label_put_comm(scratch, stack->comm, LABEL_TEXT);
	writer_puts(w, "    ");
	writer_put(w, scratch->text, scratch->n);
	writer_puts(w, " [");
	writer_put_u64(w, stack->pid);
	writer_puts(w, "]\n");
}

/* "30 -> 10 (-20, -66.7%)" */
static void put_text_change(struct writer *w, const struct profile_stack *stack)
{
	const int64_t change = subtract_saturated(stack->count, stack->count_before);
	char text[COLUMN_SIZE];

	writer_put_i64(w, stack->count_before);
	writer_puts(w, " -> ");
	writer_put_i64(w, stack->count);
	(void)column_number(text, 0, change, true);
	writer_puts(w, " (");
	writer_puts(w, text);
	if (stack->count_before && stack->count)
		(void)column_share(text, 0, 100 * (double)change / (double)stack->count_before,
				   true);
	else
		(void)column_text(text, 0, stack->count ? "new" : "gone");
	writer_puts(w, ", ");
	writer_puts(w, text);
	writer_puts(w, ")");
}

static void put_text_stack(struct writer *w, struct labels *labels,
			   const struct profile_stack *stack, const struct render_style *style,
			   bool is_difference)
{
	put_text_frames(w, labels, stack->frames, stack->n_kernel);
	if (style->delimited)
		writer_puts(w, "    --\n");
	if (stack->n_user)
		put_text_frames(w, labels, stack->frames + stack->n_kernel, stack->n_user);
	if (style->per_process)
		put_process(w, stack, &w->scratch);
	writer_puts(w, "    ");
	if (is_difference)
		put_text_change(w, stack);
	else
		writer_put_i64(w, stack->count);
	writer_puts(w, "\n\n");
}

int render_text(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	cleanup(strbuf_fini) struct strbuf scratch = {};
	cleanup(labels_fini) struct labels labels;

	labels_init(&labels, &p->frames, style, LABEL_TEXT);
	writer_puts(w, "\n");
	if (style->time) {
		writer_puts(w, style->time);
		writer_puts(w, "\n");
	}
	for (size_t i = 0; i < p->n_stacks && !w->result; i++) {
		if (style->of_profile)
			render_profile_stack(w, &labels, &p->stacks[i], style);
		else
			put_text_stack(w, &labels, &p->stacks[i], style, p->is_difference);
	}
	strbuf_clear(&scratch);
	if (p->is_difference) {
		changes_put_of(&scratch, p, style->changes, MOST_CHANGES);
		strbuf_putc(&scratch, '\n');
	}
	render_losses(p->losses, p->n_losses, &scratch);
	if (scratch.n)
		writer_put(w, scratch.text, scratch.n);
	return writer_finish(w);
}
