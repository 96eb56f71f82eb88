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
 *	Left out 3 stacks, 70 hits         only if --top or --min did so
 *	Lost 12 hits: ...                  only if hits were lost
 *
 * With a sum of values (--sum), the line of the count has both:
 *
 *	    4096 bytes (2 hits)
 *
 * Of a difference, the line of the count has both, and the functions that changed most come last:
 *
 *	    30 -> 10 (-20, -66.7%)
 *	    0 -> 5 (+5, new)
 *	    7 -> 0 (-7, gone)
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/saturated.h"
#include "base/text.h"
#include "report/amount.h"
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

/* Stacks rise by it (profile_choose()). */
static uint64_t largest_amount(const struct profile *p)
{
	const int64_t n = p->n_stacks ? p->stacks[p->n_stacks - 1].count : p->hidden;

	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

/* The count; or the sum of values, and the count behind it. */
static void put_text_count(struct writer *w, const struct profile *p,
			   const struct profile_stack *stack)
{
	const size_t hits = profile_hits_value(p);
	char text[AMOUNT_SIZE];

	if (!hits || !stack->more) {
		writer_put_i64(w, stack->count);
		return;
	}
	writer_put(w, text, amount_put(text, stack->count, p->values[0].unit, largest_amount(p)));
	writer_puts(w, " (");
	writer_put_i64(w, stack->more[hits - 1]);
	writer_puts(w, " hit");
	writer_puts(w, text_plural((uint64_t)stack->more[hits - 1]));
	writer_puts(w, ")");
}

static void put_text_stack(struct writer *w, struct labels *labels, const struct profile *p,
			   const struct profile_stack *stack, const struct render_style *style)
{
	put_text_frames(w, labels, stack->frames, stack->n_kernel);
	if (style->delimited)
		writer_puts(w, "    --\n");
	if (stack->n_user)
		put_text_frames(w, labels, stack->frames + stack->n_kernel, stack->n_user);
	if (style->per_process)
		put_process(w, stack, &w->scratch);
	writer_puts(w, "    ");
	if (p->is_difference)
		put_text_change(w, stack);
	else
		put_text_count(w, p, stack);
	writer_puts(w, "\n\n");
}

static void put_amount(struct strbuf *to, const struct profile *p, int64_t amount)
{
	const bool is_of_hits = text_is_same(p->values[0].name, "hits");
	char text[AMOUNT_SIZE];

	(void)amount_put(text, amount, p->values[0].unit, largest_amount(p));
	strbuf_printf(to, "%s%s%s", text, is_of_hits ? " hit" : "",
		      is_of_hits ? text_plural((uint64_t)amount) : "");
}

/* The stacks that --top and --min have removed, in this run or when the file was written. */
static void put_left_out(struct strbuf *to, const struct profile *p)
{
	if (!p->n_hidden)
		return;
	strbuf_printf(to, "Left out %zu stack%s", p->n_hidden, text_plural(p->n_hidden));
	if (p->is_difference) {
		strbuf_printf(to, ", %" PRId64 " -> %" PRId64, p->hidden_before, p->hidden);
	} else if (p->hidden) { /* else it may be unknown: profile_put_value_first() */
		strbuf_puts(to, ", ");
		put_amount(to, p, p->hidden);
	}
	strbuf_putc(to, '\n');
}

static void put_not_shown(struct strbuf *to, const struct profile *p, size_t n)
{
	put_amount(to, p, p->total);
	strbuf_printf(to, " in %zu stacks; %zu stack%s not shown: --top 0 shows all\n", p->n_stacks,
		      n, n == 1 ? " is" : "s are");
}

int render_text(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	const size_t n_hidden =
		style->most && p->n_stacks > style->most ? p->n_stacks - style->most : 0;
	cleanup_writer struct writer *w = writer_new(write, context);
	cleanup(strbuf_fini) struct strbuf scratch = {};
	cleanup(labels_fini) struct labels labels;

	labels_init(&labels, &p->frames, style, LABEL_TEXT);
	writer_puts(w, "\n");
	if (style->time) {
		writer_puts(w, style->time);
		writer_puts(w, "\n");
	}
	for (size_t i = n_hidden; i < p->n_stacks && !w->result; i++) {
		if (style->of_profile)
			render_profile_stack(w, &labels, &p->stacks[i], style);
		else
			put_text_stack(w, &labels, p, &p->stacks[i], style);
	}
	strbuf_clear(&scratch);
	if (p->is_difference) {
		changes_put_text(&scratch, style->changes, MOST_CHANGES);
		strbuf_putc(&scratch, '\n');
	}
	put_left_out(&scratch, p);
	if (n_hidden)
		put_not_shown(&scratch, p, n_hidden);
	render_losses(p->losses, p->n_losses, profile_n_hits(p), &scratch);
	if (scratch.n)
		writer_put(w, scratch.text, scratch.n);
	return writer_finish(w);
}
