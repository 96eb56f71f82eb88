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
 *
 * The tree is never in memory. A node is a range of stacks that begin with the same steps. Its
 * children are parts of the range, so there are never more nodes than stacks. Nothing is recursive,
 * since the depth of stacks in files is any.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/saturated.h"
#include "base/text.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"

/* A step of a stack on its way from the root. Frames have the numbers from STEP_FRAMES on, and
 * processes those after the last frame: that of stack 0 is the first. */
enum { STEP_END, STEP_DELIMITER, STEP_FRAMES };

/* Of nodes without stacks. */
#define STEP_MORE UINT32_MAX         /* siblings below the least share */
#define STEP_HIDDEN (UINT32_MAX - 1) /* stacks that are not in the profile */

struct tree_sums {
	int64_t now;
	int64_t before; /* differences only */
};

struct tree_node {
	size_t first, n;    /* its items. Of STEP_MORE and STEP_HIDDEN: @n nodes or stacks */
	size_t depth;       /* of the step after it */
	size_t level;       /* of branching, 1 below the root */
	size_t indentation; /* for the caller: that of the parent when the node was made */
	struct tree_sums sums;
	struct tree_sums parent;
	uint32_t step;
	bool is_last; /* of its siblings */
};

/* A stack. It copies the members that the tree needs, because stacks are anywhere in memory. */
struct tree_item {
	uint32_t step;    /* at the depth of the last node that take_steps() saw */
	uint32_t process; /* number of the first stack with the same one */
	const uint32_t *frames;
	uint32_t n_kernel, n_user;
	struct tree_sums sums;
};

struct glyphs {
	const char *child, *last_child, *line, *no_line;
};

struct tree {
	const struct profile *p;
	const struct render_style *style;
	const struct glyphs *glyphs;
	struct writer w;
	struct strbuf *to; /* its text */
	struct labels labels;
	struct strbuf indentation;
	struct tree_item *items; /* of all stacks */
	struct tree_node *nodes; /* to come, last one first */
	size_t n_nodes, node_capacity;
};

/* --- steps --- */

static void number_processes(struct tree *t)
{
	cleanup(u64_map_fini) struct u64_map numbers = {};

	for (size_t i = 0; i < t->p->n_stacks; i++) {
		const struct profile_stack *stack = &t->p->stacks[i];
		/* Equal names have one address. */
		const uintptr_t process[] = { stack->pid,
					      has_text(stack->comm) ? (uintptr_t)stack->comm : 0 };

		t->items[i].process = *u64_map_put(&numbers, hash_bytes(process, sizeof(process)),
						   (uint32_t)i, NULL);
	}
}

static uint32_t step_of_stack(const struct tree *t, const struct tree_item *stack, size_t depth)
{
	const size_t n = (size_t)stack->n_kernel + stack->n_user;
	const size_t delimiter = t->style->invert ? stack->n_kernel : stack->n_user;

	if (t->style->per_process) {
		if (depth == 0)
			return (uint32_t)(STEP_FRAMES + t->p->frames.n) + stack->process;
		depth--;
	}
	if (t->style->delimited && depth >= delimiter) {
		if (depth == delimiter)
			return STEP_DELIMITER;
		depth--;
	}
	if (depth >= n)
		return STEP_END;
	return STEP_FRAMES + stack->frames[t->style->invert ? depth : n - 1 - depth];
}

/* --- numbers --- */

static int64_t tree_change(const struct tree_sums *sums)
{
	return subtract_saturated(sums->now, sums->before);
}

/* Per cent; 0 if there is no whole. */
static double tree_share(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static uint64_t tree_weight(const struct tree *t, const struct tree_sums *sums)
{
	return count_magnitude(t->p->is_difference ? tree_change(sums) : sums->now);
}

/* Is the node's share of all below the least one, before and after a change? */
static bool is_node_small(const struct tree *t, const struct tree_sums *sums)
{
	const double least = t->style->min_percent;

	return least > 0 && fabs(tree_share(sums->now, t->p->total)) < least &&
	       (!t->p->is_difference || fabs(tree_share(sums->before, t->p->total_before)) < least);
}

/* --- children --- */

static void add_tree_sums(struct tree_sums *to, const struct tree_sums *from)
{
	add_to(&to->now, from->now);
	add_to(&to->before, from->before);
}

/* Do all stacks of @node take the same step? Finds the step of each. */
static bool take_steps(struct tree *t, const struct tree_node *node)
{
	struct tree_item *items = t->items + node->first;
	bool is_one = true;

	for (size_t i = 0; i < node->n; i++) {
		items[i].step = step_of_stack(t, &items[i], node->depth);
		is_one = is_one && items[i].step == items[0].step;
	}
	return is_one;
}

/* For qsort(3). */
static int compare_steps(const void *left, const void *right)
{
	const struct tree_item *a = left, *b = right;

	return a->step < b->step ? -1 : a->step > b->step;
}

/* Append a child for each step, and sort the parent's items by child. */
static void push_children(struct tree *t, const struct tree_node *parent)
{
	struct tree_item *items = t->items + parent->first;

	qsort(items, parent->n, sizeof(*items), compare_steps);
	for (size_t i = 0; i < parent->n; i++) {
		if (i == 0 || items[i].step != items[i - 1].step)
			array_push(t->nodes, t->n_nodes, t->node_capacity,
				   ((struct tree_node){ .step = items[i].step,
							.first = parent->first + i,
							.depth = parent->depth + 1,
							.level = parent->level + 1,
							.indentation = parent->indentation,
							.parent = parent->sums }));
		add_tree_sums(&t->nodes[t->n_nodes - 1].sums, &items[i].sums);
		t->nodes[t->n_nodes - 1].n++;
	}
}

/* For qsort_r(3). The last one is drawn first, and that of small siblings last. */
static int compare_nodes(const void *left, const void *right, void *tree)
{
	const struct tree_node *a = left, *b = right;
	const uint64_t weight_a = tree_weight(tree, &a->sums),
		       weight_b = tree_weight(tree, &b->sums);

	if (a->step == STEP_MORE || b->step == STEP_MORE)
		return a->step == STEP_MORE ? -1 : 1;
	if (weight_a != weight_b)
		return weight_a < weight_b ? -1 : 1;
	return a->step < b->step ? 1 : -1;
}

/* Make one node of those of the @n children that are small. Returns how many are left. */
static size_t join_small(const struct tree *t, struct tree_node *children, size_t n)
{
	struct tree_node more = { .step = STEP_MORE };
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_node_small(t, &children[i].sums)) {
			children[n_kept++] = children[i];
			continue;
		}
		more.level = children[i].level;
		more.indentation = children[i].indentation;
		more.parent = children[i].parent;
		more.n++;
		add_tree_sums(&more.sums, &children[i].sums);
	}
	if (more.n)
		children[n_kept++] = more;
	return n_kept;
}

/* The children of @parent are to come next, largest first. */
static void tree_push(struct tree *t, const struct tree_node *parent)
{
	const size_t first = t->n_nodes;

	push_children(t, parent);
	t->n_nodes = first + join_small(t, t->nodes + first, t->n_nodes - first);
	qsort_r(t->nodes + first, t->n_nodes - first, sizeof(*t->nodes), compare_nodes, t);
	t->nodes[first].is_last = true;
}

/* --- the whole --- */

static void tree_init(struct tree *t)
{
	const struct profile *p = t->p;

	labels_init(&t->labels, &p->frames, t->style, LABEL_TREE);
	strbuf_puts(&t->indentation, "");
	t->items = xcalloc(p->n_stacks + 1, sizeof(*t->items));
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];

		t->items[i] = (struct tree_item){ .frames = stack->frames,
						  .n_kernel = stack->n_kernel,
						  .n_user = stack->n_user,
						  .sums = { stack->count, stack->count_before } };
	}
	if (t->style->per_process)
		number_processes(t);
}

static void tree_fini(struct tree *t)
{
	writer_fini(&t->w);
	labels_fini(&t->labels);
	strbuf_fini(&t->indentation);
	free(t->items);
	free(t->nodes);
}

/* The root, whose children are to come first. */
static struct tree_node tree_root(struct tree *t)
{
	const struct tree_node root = { .n = t->p->n_stacks,
					.sums = { t->p->total, t->p->total_before } };

	if (t->p->n_hidden)
		array_push(t->nodes, t->n_nodes, t->node_capacity,
			   ((struct tree_node){ .step = STEP_HIDDEN,
						.n = t->p->n_hidden,
						.level = 1,
						.sums = { t->p->hidden, t->p->hidden_before },
						.parent = root.sums,
						.is_last = true }));
	if (root.n) {
		(void)take_steps(t, &root);
		tree_push(t, &root);
	}
	if (t->p->n_hidden && t->n_nodes > 1)
		t->nodes[1].is_last = false;
	return root;
}

/* --- drawing --- */

/* Deeper nodes are drawn on this level, with their own in front. */
#define MOST_LEVELS 60
#define MOST_CHANGES 20

static const struct glyphs drawn = { "├─ ", "└─ ", "│  ", "   " };
static const struct glyphs ascii = { "|- ", "`- ", "|  ", "   " };

/* --- numbers --- */

#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define YELLOW "\x1b[33m"
#define BLUE "\x1b[34m"
#define MAGENTA "\x1b[35m"
#define PLAIN "\x1b[0m"

/* @sgr: one of these; NULL: none. */
static void put_sgr(const struct tree *t, const char *sgr)
{
	if (t->style->colours && sgr)
		strbuf_puts(t->to, sgr);
}

static void put_plain_numbers(struct tree *t, const struct tree_node *node, bool is_root)
{
	const double of_all = tree_share(node->sums.now, t->p->total);
	/* The limits are those of perf report. */
	const char *sgr = of_all >= 5 ? RED : of_all >= 0.5 ? GREEN : NULL;

	column_number(t->to, 12, node->sums.now, false);
	strbuf_putc(t->to, ' ');
	put_sgr(t, sgr);
	column_share(t->to, 7, of_all, false);
	put_sgr(t, sgr ? PLAIN : NULL);
	if (is_root)
		strbuf_printf(t->to, "%11s", "");
	else
		column_share(t->to, 11, tree_share(node->sums.now, node->parent.now), false);
	strbuf_puts(t->to, "  ");
}

static void put_changed_numbers(struct tree *t, const struct tree_node *node)
{
	const struct tree_sums *sums = &node->sums;
	const int64_t change = tree_change(sums);
	const int64_t all = t->p->total_before ? t->p->total_before : t->p->total;
	const char *sgr = change > 0 ? RED : change < 0 ? BLUE : NULL;

	column_number(t->to, 12, sums->before, false);
	strbuf_putc(t->to, ' ');
	column_number(t->to, 12, sums->now, false);
	strbuf_putc(t->to, ' ');
	put_sgr(t, sgr);
	column_number(t->to, 12, change, true);
	put_sgr(t, sgr ? PLAIN : NULL);
	if (sums->before == 0 || sums->now == 0)
		strbuf_printf(t->to, "%10s", sums->now ? "new" : sums->before ? "gone" : "");
	else
		column_share(t->to, 10, tree_share(change, sums->before), true);
	column_share(t->to, 9, tree_share(change, all), true);
	strbuf_puts(t->to, "  ");
}

static void put_numbers(struct tree *t, const struct tree_node *node, bool is_root)
{
	if (t->p->is_difference)
		put_changed_numbers(t, node);
	else
		put_plain_numbers(t, node, is_root);
}

/* --- labels --- */

static const char *frame_colour(const struct frame *frame)
{
	if (frame_is_mark(frame))
		return MAGENTA;
	if (frame->kind == FRAME_KERNEL)
		return YELLOW;
	if (!has_text(frame->name))
		return DIM;
	return frame->is_jit ? GREEN : NULL;
}

static void put_process_label(struct tree *t, const struct profile_stack *stack)
{
	put_sgr(t, BOLD);
	label_put_comm(t->to, stack->comm, LABEL_TREE);
	if (stack->pid)
		strbuf_printf(t->to, " [%" PRIu32 "]", stack->pid);
	put_sgr(t, PLAIN);
}

static void put_frame_label(struct tree *t, uint32_t number)
{
	/* The frame itself may be far away in memory, so only colours look at it. */
	const char *sgr = t->style->colours ? frame_colour(&t->p->frames.frames[number]) : NULL;

	put_sgr(t, sgr);
	labels_put(t->to, &t->labels, number);
	put_sgr(t, sgr ? PLAIN : NULL);
}

/* Nodes that are no code. Names that look like these are escaped (writer.h). */
static void put_other_label(struct tree *t, const struct tree_node *node, uint32_t step)
{
	const size_t n_before =
		t->style->per_process ? 1 : 0; /* steps before a stack's first frame */

	if (step == STEP_DELIMITER)
		return strbuf_puts(t->to, "--");
	put_sgr(t, DIM);
	if (step == STEP_MORE)
		strbuf_printf(t->to, "[%zu more below %.4g%%]", node->n, t->style->min_percent);
	else if (step == STEP_HIDDEN)
		strbuf_printf(t->to, "[%zu stack%s left out]", node->n, text_plural(node->n));
	else
		strbuf_puts(t->to, node->depth <= n_before + 1 ? "[no stack]"
				   : t->style->invert          ? "[no caller]"
							       : "[self]");
	put_sgr(t, PLAIN);
}

static void put_step_label(struct tree *t, const struct tree_node *node, uint32_t step)
{
	const size_t n_frames = t->p->frames.n;

	if (step == STEP_MORE || step == STEP_HIDDEN || step < STEP_FRAMES)
		put_other_label(t, node, step);
	else if (step - STEP_FRAMES < n_frames)
		put_frame_label(t, step - STEP_FRAMES);
	else
		put_process_label(t, &t->p->stacks[step - STEP_FRAMES - n_frames]);
	strbuf_puts(t->to, "\n");
}

/* --- lines --- */

/* The indentation, with @glyph behind it. */
static void put_indentation(struct tree *t, const char *glyph)
{
	const size_t n = t->indentation.n;

	strbuf_puts(&t->indentation, glyph);
	put_sgr(t, DIM);
	strbuf_put(t->to, t->indentation.text, t->indentation.n);
	put_sgr(t, PLAIN);
	t->indentation.n = n;
}

/* The node's line. Leaves the indentation of the lines below it. */
static void put_node(struct tree *t, const struct tree_node *node)
{
	t->indentation.n = node->indentation;
	put_numbers(t, node, false);
	put_indentation(t, node->is_last ? t->glyphs->last_child : t->glyphs->child);
	if (node->level > MOST_LEVELS)
		strbuf_printf(t->to, "(%zu) ", node->level);
	put_step_label(t, node, node->step);
	if (node->level < MOST_LEVELS)
		strbuf_puts(&t->indentation, node->is_last ? t->glyphs->no_line : t->glyphs->line);
}

/* A line without numbers: they are those of the one above. */
static void put_chained(struct tree *t, const struct tree_node *node, uint32_t step)
{
	static const char blanks[] = "                                                           ";

	strbuf_put(t->to, blanks, t->p->is_difference ? 59 : 33);
	put_indentation(t, node->level < MOST_LEVELS ? "" : t->glyphs->no_line);
	put_step_label(t, node, step);
}

/* Draw the node and all below it that have the same hits. Its children are to come. */
static void draw_node(struct tree *t, struct tree_node node)
{
	const size_t n_before = t->style->per_process ? 1 : 0; /* steps before the first frame */
	uint32_t step;

	put_node(t, &node);
	if (node.step == STEP_END || node.step == STEP_MORE || node.step == STEP_HIDDEN)
		return;
	while (writer_goes_on(&t->w)) {
		if (!take_steps(t, &node)) {
			node.indentation = t->indentation.n;
			tree_push(t, &node);
			return;
		}
		step = t->items[node.first].step;
		node.depth += step != STEP_END;
		if (step != STEP_END || node.depth == n_before)
			put_chained(t, &node, step);
		if (step == STEP_END)
			return;
	}
}

/* "HITS" */
static void put_value_name(const struct tree *t, char *to, size_t size)
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

static void put_head(struct tree *t, const struct tree_node *root)
{
	char name[14]; /* "ALLOC_OBJECTS" */

	strbuf_puts(t->to, "\n");
	if (t->style->time) {
		strbuf_puts(t->to, t->style->time);
		strbuf_puts(t->to, "\n");
	}
	put_value_name(t, name, sizeof(name));
	put_sgr(t, BOLD);
	if (t->p->is_difference)
		strbuf_printf(t->to, "%12s %12s %12s %9s %8s\n", "BEFORE", "AFTER", "CHANGE",
			      "OF ITSELF", "OF ALL");
	else
		strbuf_printf(t->to, "%12s %*s  %9s\n", name, strlen(name) > 12 ? 6 : 7, "OF ALL",
			      "OF PARENT");
	put_sgr(t, PLAIN);
	put_numbers(t, root, true);
	strbuf_puts(t->to, "all\n");
}

static void put_tail(struct tree *t)
{
	strbuf_puts(t->to, "\n");
	if (t->p->is_difference) {
		changes_put_text(t->to, t->style->changes, MOST_CHANGES);
		strbuf_putc(t->to, '\n');
	}
	render_losses(t->p->losses, t->p->n_losses, profile_n_hits(t->p), t->to);
}

int render_tree(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup(tree_fini) struct tree t = { .p = p,
					     .style = style,
					     .glyphs = style->ascii ? &ascii : &drawn,
					     .w = { .write = write, .context = context } };
	struct tree_node root;

	t.to = &t.w.text;
	tree_init(&t);
	root = tree_root(&t);
	put_head(&t, &root);
	while (t.n_nodes && writer_goes_on(&t.w)) /* parents before children */
		draw_node(&t, t.nodes[--t.n_nodes]);
	put_tail(&t);
	return writer_flush(&t.w);
}
