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
#include <stdio.h>

#include "base/memory.h"
#include "base/saturated.h"
#include "base/text.h"
#include "profile/changes.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

#define MOST_CHANGES 20

/* --- the functions that changed --- */

/*
 *	          self          change            total          change  function
 *	        30 -> 10           -20          30 -> 10           -20 * parse
 *	         0 -> 5             +5 *         0 -> 15           +15 * hash
 *	* beyond noise: by more than three standard errors, ... (20 before, 20 after).
 */
static void put_changed_value(struct strbuf *to, const struct changed_value *v)
{
	strbuf_printf(to, "%12" PRId64 " -> %-12" PRId64 " %+12" PRId64 " %c ", v->before, v->after,
		      subtract_saturated(v->after, v->before), v->is_beyond_noise ? '*' : ' ');
}

static void put_legend(struct strbuf *to, const struct changes *c)
{
	if (c->n_after)
		strbuf_printf(to,
			      "* beyond noise: by more than three standard errors, known from "
			      "slices of time (%zu before, %zu after).\n",
			      c->n_before, c->n_after);
	else
		strbuf_puts(to, "No claim about noise: that takes 20 slices of time before and "
				"after.\n");
}

void changes_put_text(struct strbuf *to, const struct changes *c, size_t most)
{
	const struct label_style style = { .form = LABEL_TREE };

	strbuf_printf(to, "%18s %-11s %11s %19s %-11s %13s   %s\n", "self", "", "change", "total",
		      "", "change", "function");
	for (size_t i = 0, n = 0; i < c->n && n < most; i++) {
		const struct change *change = &c->rows[i];

		if (change->self.after == change->self.before &&
		    change->total.after == change->total.before)
			continue;
		put_changed_value(to, &change->self);
		put_changed_value(to, &change->total);
		label_put(to, &style, change->frame);
		strbuf_putc(to, '\n');
		n++;
	}
	put_legend(to, c);
}

/* --- stacks --- */

static void put_text_frames(struct strbuf *to, struct labels *labels, const uint32_t *frames,
			    size_t n, const char *before, const char *behind)
{
	for (size_t i = 0; i < n; i++) {
		strbuf_puts(to, before);
		labels_put(to, labels, frames[i]);
		strbuf_puts(to, behind);
	}
}

/* "30 -> 10 (-20, -66.7%)" */
static void put_text_change(struct strbuf *to, const struct profile_stack *stack)
{
	const int64_t change = subtract_saturated(stack->count, stack->count_before);

	strbuf_printf(to, "%" PRId64 " -> %" PRId64 " (%+" PRId64 ", ", stack->count_before,
		      stack->count, change);
	if (stack->count_before && stack->count)
		column_share(to, 0, 100 * (double)change / (double)stack->count_before, true);
	else
		strbuf_puts(to, stack->count ? "new" : "gone");
	strbuf_putc(to, ')');
}

/* Stacks rise by it (profile_choose()). */
static uint64_t largest_amount(const struct profile *p)
{
	return count_magnitude(p->n_stacks ? p->stacks[p->n_stacks - 1].count : p->hidden);
}

/* The count; or the sum of values, and the count behind it. */
static void put_text_count(struct strbuf *to, const struct profile *p,
			   const struct profile_stack *stack)
{
	const size_t hits = profile_hits_value(p);

	if (!hits || !stack->more)
		return put_i64(to, stack->count);
	amount_put(to, stack->count, p->values[0].unit, largest_amount(p));
	strbuf_printf(to, " (%" PRId64 " hit%s)", stack->more[hits - 1],
		      text_plural((uint64_t)stack->more[hits - 1]));
}

/* bcc's profile has no delimiter if one of the stacks is not there. */
static bool is_delimited(const struct render_style *style, const struct profile_stack *stack)
{
	return style->delimited && (!style->of_profile || (stack->n_user && stack->n_kernel));
}

/*
 * In the layout of bcc's profile:
 *
 *	    vfs_read_[k]                     the annotation with -a
 *	    --                               with -d
 *	    __read
 *	    main
 *	    -                tar (15187)
 *	        5
 *	(empty)
 */
static void put_text_stack(struct strbuf *to, struct labels *labels, const struct profile *p,
			   const struct profile_stack *stack, const struct render_style *style)
{
	const char *before = style->of_profile ? "  " : ""; /* two blanks are in the line already */

	put_text_frames(to, labels, stack->frames, stack->n_kernel, before,
			style->annotated ? "_[k]\n" : "\n");
	if (is_delimited(style, stack))
		strbuf_puts(to, "    --\n");
	put_text_frames(to, labels, stack->frames + stack->n_kernel, stack->n_user, before, "\n");
	if (style->of_profile) {
		strbuf_puts(to, "    -                ");
		label_put_comm(to, stack->comm, LABEL_TEXT);
		strbuf_printf(to, " (%" PRIu32 ")\n        %" PRId64 "\n\n", stack->pid,
			      stack->count);
		return;
	}
	if (style->per_process) {
		strbuf_puts(to, "    ");
		label_put_comm(to, stack->comm, LABEL_TEXT);
		strbuf_printf(to, " [%" PRIu32 "]\n", stack->pid);
	}
	strbuf_puts(to, "    ");
	if (p->is_difference)
		put_text_change(to, stack);
	else
		put_text_count(to, p, stack);
	strbuf_puts(to, "\n\n");
}

static void put_amount(struct strbuf *to, const struct profile *p, int64_t amount)
{
	amount_put(to, amount, p->values[0].unit, largest_amount(p));
	if (text_is_same(p->values[0].name, "hits"))
		strbuf_printf(to, " hit%s", text_plural((uint64_t)amount));
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

int render_text(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	const size_t n_hidden =
		style->most && p->n_stacks > style->most ? p->n_stacks - style->most : 0;
	cleanup_writer struct writer w = { .write = write, .context = context };
	struct strbuf *to = &w.text;
	cleanup(labels_fini) struct labels labels;

	labels_init(&labels, &p->frames, style, LABEL_TEXT);
	strbuf_puts(to, "\n");
	if (style->time) {
		strbuf_puts(to, style->time);
		strbuf_puts(to, "\n");
	}
	for (size_t i = n_hidden; i < p->n_stacks && writer_goes_on(&w); i++)
		put_text_stack(to, &labels, p, &p->stacks[i], style);
	if (p->is_difference) {
		changes_put_text(to, style->changes, MOST_CHANGES);
		strbuf_putc(to, '\n');
	}
	put_left_out(to, p);
	if (n_hidden) {
		put_amount(to, p, p->total);
		strbuf_printf(to, " in %zu stacks; %zu stack%s not shown: --top 0 shows all\n",
			      p->n_stacks, n_hidden, n_hidden == 1 ? " is" : "s are");
	}
	render_losses(p->losses, p->n_losses, profile_n_hits(p), to);
	return writer_flush(&w);
}

/* --- folded --- */

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

/*
 * Stacks are stored innermost first, as they were walked. @between: what stands before the first
 * frame. Returns what stands before a further part.
 */
static const char *put_folded_frames(struct strbuf *to, struct labels *labels,
				     const uint32_t *frames, size_t n, const char *behind,
				     const char *between)
{
	for (size_t i = n; i-- > 0; between = ";") {
		strbuf_puts(to, between);
		labels_put(to, labels, frames[i]);
		strbuf_puts(to, behind);
	}
	return between;
}

static void put_folded_stack(struct strbuf *to, struct labels *labels,
			     const struct profile_stack *stack, const struct render_style *style,
			     bool is_difference)
{
	const char *between = "";

	if (style->per_process) {
		label_put_comm(to, stack->comm, LABEL_FOLDED);
		between = ";";
	}
	between = put_folded_frames(to, labels, stack->frames + stack->n_kernel, stack->n_user, "",
				    between);
	if (is_delimited(style, stack)) {
		strbuf_puts(to, between);
		strbuf_puts(to, "-");
		between = ";";
	}
	between = put_folded_frames(to, labels, stack->frames, stack->n_kernel,
				    style->annotated ? "_[k]" : "", between);
	if (!*between)
		strbuf_puts(to, "[no stack]");
	strbuf_putc(to, ' ');
	if (is_difference) {
		put_i64(to, stack->count_before);
		strbuf_putc(to, ' ');
	}
	put_i64(to, stack->count);
	strbuf_putc(to, '\n');
}

int render_folded(const struct profile *p, const struct render_style *style, render_write *write,
		  void *context)
{
	cleanup_writer struct writer w = { .write = write, .context = context };
	struct strbuf *to = &w.text;
	cleanup(labels_fini) struct labels labels;

	labels_init(&labels, &p->frames, style, LABEL_FOLDED);
	for (size_t i = 0; i < p->n_stacks && writer_goes_on(&w); i++)
		put_folded_stack(to, &labels, &p->stacks[i], style, p->is_difference);
	return writer_flush(&w);
}
