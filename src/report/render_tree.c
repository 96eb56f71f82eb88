// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The calls as a tree, callers first, most frequent first:
 *
 *	(empty)
 *	14:02:11
 *	    HITS  OF ALL  OF PARENT
 *	    4723  100.0%             all
 *	    3000   63.5%      63.5%  ├─ main
 *	                             │  parse
 *	    2000   42.3%      66.7%  │  ├─ read
 *	     950   20.1%      31.7%  │  ├─ [self]
 *	      50    1.1%       1.7%  │  └─ [1 more below 2.0%]
 *	    1723   36.5%      36.5%  └─ start_thread
 *	(empty)
 *	Lost 12 hits: ...                 only if hits were lost
 *
 * A function that has all hits of its caller is below it without numbers of its own, and takes no
 * column: deep stacks stay readable. [self] has the hits that came with the caller innermost. With
 * callees first (--invert), [no caller] has those that came with it outermost. With -P, processes
 * are the first level, in both orders. Of a difference, the order is by the size of the change:
 *
 *	  BEFORE   AFTER   CHANGE  OF ITSELF  OF ALL
 *	      30      10      -20     -66.7%  -20.0%  ├─ parse
 *	       0       5       +5        new   +5.0%  └─ hash
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/column.h"
#include "report/label.h"
#include "report/render.h"
#include "report/render_changes.h"
#include "report/tree.h"
#include "report/writer.h"

/* Deeper nodes are drawn on this level, with their own in front. */
#define MOST_LEVELS 60
#define MOST_CHANGES 20

struct glyphs {
	const char *child, *last_child, *line, *no_line;
};

static const struct glyphs drawn = { "├─ ", "└─ ", "│  ", "   " };
static const struct glyphs ascii = { "|- ", "`- ", "|  ", "   " };

struct drawing {
	const struct profile *p;
	const struct render_style *style;
	const struct glyphs *glyphs;
	struct writer *w;
	struct tree tree;
	struct labels labels;
	struct strbuf indentation;
};

static void drawing_fini(struct drawing *t)
{
	tree_end(&t->tree);
	labels_fini(&t->labels);
	strbuf_fini(&t->indentation);
}

/* --- numbers --- */

static const char *tree_colour(const struct drawing *t, const char *sgr)
{
	return t->style->colours && sgr ? sgr : "";
}

static void put_coloured(struct drawing *t, const char *sgr, const char *text)
{
	if (!t->style->colours || !sgr) {
		writer_puts(t->w, text);
		return;
	}
	writer_puts(t->w, sgr);
	writer_puts(t->w, text);
	writer_puts(t->w, "\x1b[0m");
}

/* The limits are those of perf report. */
static const char *share_colour(double percent)
{
	return percent >= 5 ? "\x1b[31m" : percent >= 0.5 ? "\x1b[32m" : NULL;
}

static const char *change_colour(int64_t change)
{
	return change > 0 ? "\x1b[31m" : change < 0 ? "\x1b[34m" : NULL;
}

static void put_number(struct drawing *t, int64_t number)
{
	char text[COLUMN_SIZE + 1];
	const size_t n = column_number(text, 12, number, false);

	text[n] = ' ';
	writer_put(t->w, text, n + 1);
}

static void put_plain_numbers(struct drawing *t, const struct tree_node *node, bool is_root)
{
	const double of_all = tree_share(node->sums.now, t->p->total);
	char text[COLUMN_SIZE];
	size_t n;

	put_number(t, node->sums.now);
	n = column_share(text, 7, of_all, false);
	if (t->style->colours)
		put_coloured(t, share_colour(of_all), text);
	else
		writer_put(t->w, text, n);
	if (is_root)
		n = column_text(text, 11, "");
	else
		n = column_share(text, 11, tree_share(node->sums.now, node->parent.now), false);
	writer_put(t->w, text, n);
	writer_put(t->w, "  ", 2);
}

static void put_changed_numbers(struct drawing *t, const struct tree_node *node)
{
	const struct tree_sums *sums = &node->sums;
	const int64_t change = tree_change(sums);
	const int64_t all = t->p->total_before ? t->p->total_before : t->p->total;
	char text[COLUMN_SIZE];

	put_number(t, sums->before);
	put_number(t, sums->now);
	(void)column_number(text, 12, change, true);
	put_coloured(t, change_colour(change), text);
	if (sums->before == 0 || sums->now == 0)
		(void)column_text(text, 10, sums->now ? "new" : sums->before ? "gone" : "");
	else
		(void)column_share(text, 10, tree_share(change, sums->before), true);
	writer_puts(t->w, text);
	(void)column_share(text, 9, tree_share(change, all), true);
	writer_puts(t->w, text);
	writer_puts(t->w, "  ");
}

static void put_numbers(struct drawing *t, const struct tree_node *node, bool is_root)
{
	if (t->p->is_difference)
		put_changed_numbers(t, node);
	else
		put_plain_numbers(t, node, is_root);
}

static void put_no_numbers(struct drawing *t)
{
	static const char blanks[] = "                                                           ";

	writer_put(t->w, blanks, t->p->is_difference ? 59 : 33);
}

/* --- labels --- */

static const char *frame_colour(const struct frame *frame)
{
	if (frame_is_mark(frame))
		return "\x1b[35m";
	if (frame->kind == FRAME_KERNEL)
		return "\x1b[33m";
	if (!frame->name || !*frame->name)
		return "\x1b[2m";
	return frame->code == CODE_JIT ? "\x1b[32m" : frame->code == CODE_GO ? "\x1b[36m" : NULL;
}

static void put_process_label(struct drawing *t, const struct profile_stack *stack)
{
	struct strbuf *text = &t->w->scratch;

	strbuf_clear(text);
	label_put_comm(text, stack->comm, LABEL_TREE);
	if (stack->pid)
		strbuf_printf(text, " [%" PRIu32 "]", stack->pid);
	put_coloured(t, "\x1b[1m", text->text);
}

static void put_frame_label(struct drawing *t, uint32_t number)
{
	/* The frame itself may be far away in memory, so only colours look at it. */
	const char *sgr =
		t->style->colours ? tree_colour(t, frame_colour(&t->p->frames.frames[number])) : "";
	size_t n;
	const char *label = labels_get(&t->labels, number, &n);

	writer_puts(t->w, sgr);
	writer_put(t->w, label, n);
	if (*sgr)
		writer_puts(t->w, "\x1b[0m");
}

/* Nodes that are no code. Names that look like these are escaped (escape.h). */
static void put_other_label(struct drawing *t, const struct tree_node *node, uint32_t step)
{
	const size_t n_before =
		t->style->per_process ? 1 : 0; /* steps before a stack's first frame */
	char text[96];

	if (step == STEP_DELIMITER)
		(void)snprintf(text, sizeof(text), "--");
	else if (step == STEP_MORE)
		(void)snprintf(text, sizeof(text), "[%zu more below %.4g%%]", node->n,
			       t->style->min_percent);
	else if (step == STEP_HIDDEN)
		(void)snprintf(text, sizeof(text), "[%zu stack%s left out]", node->n,
			       text_plural(node->n));
	else
		(void)snprintf(text, sizeof(text), "%s",
			       node->depth <= n_before + 1 ? "[no stack]"
			       : t->style->invert          ? "[no caller]"
							   : "[self]");
	put_coloured(t, step == STEP_DELIMITER ? NULL : "\x1b[2m", text);
}

static void put_step_label(struct drawing *t, const struct tree_node *node, uint32_t step)
{
	const size_t n_frames = t->p->frames.n;

	if (step == STEP_MORE || step == STEP_HIDDEN || step < STEP_FRAMES)
		put_other_label(t, node, step);
	else if (step - STEP_FRAMES < n_frames)
		put_frame_label(t, step - STEP_FRAMES);
	else
		put_process_label(t, t->tree.process_stacks[step - STEP_FRAMES - n_frames]);
	writer_puts(t->w, "\n");
}

/* --- lines --- */

static void put_indentation(struct drawing *t, const char *glyph)
{
	if (t->style->colours)
		writer_puts(t->w, "\x1b[2m");
	writer_put(t->w, t->indentation.text, t->indentation.n);
	writer_puts(t->w, glyph);
	if (t->style->colours)
		writer_puts(t->w, "\x1b[0m");
}

static void cut_indentation(struct drawing *t, size_t n)
{
	t->indentation.n = n;
	t->indentation.text[n] = '\0';
}

/* The node's line. Leaves the indentation of the lines below it. */
static void put_node(struct drawing *t, const struct tree_node *node)
{
	char level[32];

	cut_indentation(t, node->indentation);
	put_numbers(t, node, false);
	put_indentation(t, node->is_last ? t->glyphs->last_child : t->glyphs->child);
	if (node->level > MOST_LEVELS) {
		(void)snprintf(level, sizeof(level), "(%zu) ", node->level);
		writer_puts(t->w, level);
	}
	put_step_label(t, node, node->step);
	if (node->level < MOST_LEVELS)
		strbuf_puts(&t->indentation, node->is_last ? t->glyphs->no_line : t->glyphs->line);
}

static void put_chained(struct drawing *t, const struct tree_node *node, uint32_t step)
{
	put_no_numbers(t);
	put_indentation(t, node->level < MOST_LEVELS ? "" : t->glyphs->no_line);
	put_step_label(t, node, step);
}

/* Draw the node and all below it that have the same hits. Its children are to come. */
static void draw_node(struct drawing *t, struct tree_node node)
{
	const size_t n_before = t->style->per_process ? 1 : 0; /* steps before the first frame */
	uint32_t step;

	put_node(t, &node);
	if (node.step == STEP_END || node.step == STEP_MORE || node.step == STEP_HIDDEN)
		return;
	while (!t->w->result) {
		if (!tree_follow(&t->tree, &node, &step)) {
			node.indentation = t->indentation.n;
			tree_push(&t->tree, &node);
			return;
		}
		if (step != STEP_END || node.depth == n_before)
			put_chained(t, &node, step);
		if (step == STEP_END)
			return;
	}
}

/* "HITS" */
static void put_value_name(const struct drawing *t, char *to, size_t size)
{
	const char *name = t->p->values[0].name ? t->p->values[0].name : "";
	size_t n = 0;

	while (n + 1 < size && (isalnum((unsigned char)name[n]) || name[n] == '_')) {
		to[n] = (char)toupper((unsigned char)name[n]);
		n++;
	}
	to[n] = '\0';
	if (name[n] || n == 0)
		(void)snprintf(to, size, "VALUE");
}

static void put_head(struct drawing *t, const struct tree_node *root)
{
	char text[128], name[14]; /* "ALLOC_OBJECTS" */

	writer_puts(t->w, "\n");
	if (t->style->time) {
		writer_puts(t->w, t->style->time);
		writer_puts(t->w, "\n");
	}
	put_value_name(t, name, sizeof(name));
	if (t->p->is_difference)
		(void)snprintf(text, sizeof(text), "%12s %12s %12s %9s %8s\n", "BEFORE", "AFTER",
			       "CHANGE", "OF ITSELF", "OF ALL");
	else
		(void)snprintf(text, sizeof(text), "%12s %*s  %9s\n", name,
			       strlen(name) > 12 ? 6 : 7, "OF ALL", "OF PARENT");
	put_coloured(t, "\x1b[1m", text);
	put_numbers(t, root, true);
	writer_puts(t->w, "all\n");
}

static void put_tail(struct drawing *t)
{
	cleanup_strbuf struct strbuf text = {};

	writer_puts(t->w, "\n");
	if (t->p->is_difference) {
		changes_put_text(&text, t->style->changes, MOST_CHANGES);
		strbuf_putc(&text, '\n');
	}
	render_losses(t->p->losses, t->p->n_losses, profile_n_hits(t->p), &text);
	if (text.n)
		writer_put(t->w, text.text, text.n);
}

/*
 * Prefetch frames, then labels, of nodes that come soon: those of a large profile are anywhere in
 * memory, and waiting for them takes most of the time. The function is always inlined, because gcc
 * drops calls of one that only prefetches.
 */
static inline __attribute__((__always_inline__)) void fetch_ahead(const struct drawing *t)
{
	enum { MOST = 16 };
	const struct tree_item *stack = tree_ahead(&t->tree, 12);

	if (stack)
		__builtin_prefetch(stack->frames);
	stack = tree_ahead(&t->tree, 8);
	for (uint32_t i = 0; stack && i < stack->n_kernel + stack->n_user && i < MOST; i++)
		labels_fetch_place(&t->labels, stack->frames[i]);
	stack = tree_ahead(&t->tree, 4);
	for (uint32_t i = 0; stack && i < stack->n_kernel + stack->n_user && i < MOST; i++)
		labels_fetch_text(&t->labels, stack->frames[i]);
}

int render_tree(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	cleanup(drawing_fini) struct drawing t = {
		.p = p, .style = style, .glyphs = style->ascii ? &ascii : &drawn, .w = w
	};
	struct tree_node node;

	tree_init(&t.tree, p, style);
	labels_init(&t.labels, &p->frames, style, LABEL_TREE);
	strbuf_puts(&t.indentation, "");
	node = tree_root(&t.tree);
	put_head(&t, &node);
	while (!w->result && tree_next(&t.tree, &node)) {
		fetch_ahead(&t);
		draw_node(&t, node);
	}
	put_tail(&t);
	return writer_finish(w);
}
