// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/saturated.h"

/* --- steps --- */

static void number_processes(struct tree *t)
{
	cleanup(u64_map_fini) struct u64_map numbers = {};
	cleanup(strtab_freep) struct strtab *texts = strtab_new();
	cleanup_strbuf struct strbuf text = {};

	if (!t->style->per_process)
		return;
	t->processes = xcalloc(t->p->n_stacks + 1, sizeof(*t->processes));
	for (size_t i = 0; i < t->p->n_stacks; i++) {
		const struct profile_stack *stack = &t->p->stacks[i];
		bool is_new;

		strbuf_clear(&text);
		strbuf_printf(&text, "%" PRIu32 " %s", stack->pid, stack->comm ? stack->comm : "");
		t->processes[i] = *u64_map_put(&numbers, (uintptr_t)strtab_add(texts, text.text),
					       (uint32_t)t->n_processes, &is_new);
		if (is_new)
			array_push(t->process_stacks, t->n_processes, t->process_capacity, stack);
	}
}

/* The step of frame @i of @n, in the order of the tree. */
static uint32_t step_of_frame(const struct tree *t, const uint32_t *frames, size_t n, size_t i)
{
	return STEP_FRAMES + frames[t->style->invert ? i : n - 1 - i];
}

static uint32_t step_of_stack(const struct tree *t, const struct tree_item *stack, size_t depth)
{
	const size_t n_kernel = stack->n_kernel, n_user = stack->n_user;
	const size_t n_first = t->style->invert ? n_kernel : n_user;
	const size_t n_delimiters = t->style->delimited ? 1 : 0;

	if (t->processes) {
		if (depth == 0)
			return (uint32_t)(STEP_FRAMES + t->p->frames.n) +
			       t->processes[stack->stack];
		depth--;
	}
	if (depth >= n_kernel + n_user + n_delimiters)
		return STEP_END;
	if (depth < n_first)
		return t->style->invert ? step_of_frame(t, stack->frames, n_kernel, depth)
					: step_of_frame(t, stack->frames + n_kernel, n_user, depth);
	if (n_delimiters && depth == n_first)
		return STEP_DELIMITER;
	depth -= n_first + n_delimiters;
	return t->style->invert ? step_of_frame(t, stack->frames + n_kernel, n_user, depth)
				: step_of_frame(t, stack->frames, n_kernel, depth);
}

/* --- numbers --- */

int64_t tree_change(const struct tree_sums *sums)
{
	return subtract_saturated(sums->now, sums->before);
}

double tree_share(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static uint64_t tree_weight(const struct tree *t, const struct tree_sums *sums)
{
	const int64_t n = t->p->is_difference ? tree_change(sums) : sums->now;

	return n < 0 ? -(uint64_t)n : (uint64_t)n;
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
	enum { AHEAD = 16 };
	struct tree_item *items = t->items + node->first;
	bool is_one = true;

	for (size_t i = 0; i < node->n; i++) {
		if (i + AHEAD < node->n) /* most of the time goes to cache misses */
			__builtin_prefetch(items[i + AHEAD].frames);
		items[i].step = step_of_stack(t, &items[i], node->depth);
		is_one = is_one && items[i].step == items[0].step;
	}
	return is_one;
}

/* Append a child for each step, in the order of their first items. Returns their number. */
static size_t find_children(struct tree *t, const struct tree_node *parent)
{
	const struct tree_item *items = t->items + parent->first;
	const size_t first = t->n_nodes;

	for (size_t i = 0; i < parent->n; i++) {
		uint32_t *place = &t->places[items[i].step];

		if (!*place) {
			array_push(t->nodes, t->n_nodes, t->node_capacity,
				   ((struct tree_node){ .step = items[i].step,
							.depth = parent->depth + 1,
							.level = parent->level + 1,
							.indentation = parent->indentation,
							.parent = parent->sums }));
			*place = (uint32_t)(t->n_nodes - first);
		}
		add_tree_sums(&t->nodes[first + *place - 1].sums, &items[i].sums);
		t->nodes[first + *place - 1].n++;
	}
	return t->n_nodes - first;
}

/* Sort the parent's items by child. @children: in any order that find_children() left. */
static void sort_items(struct tree *t, const struct tree_node *parent, struct tree_node *children,
		       size_t n)
{
	struct tree_item *items = t->items + parent->first;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		children[i].first = at;
		at += children[i].n;
	}
	for (size_t i = 0; i < parent->n; i++)
		t->sorted[children[t->places[items[i].step] - 1].first++] = items[i];
	memcpy(items, t->sorted, parent->n * sizeof(*items));
	for (size_t i = 0; i < n; i++) {
		children[i].first += parent->first - children[i].n;
		t->places[children[i].step] = 0;
	}
}

/* Is @a drawn before @b? */
static bool is_node_before(const struct tree *t, const struct tree_node *a,
			   const struct tree_node *b)
{
	const uint64_t weight_a = tree_weight(t, &a->sums), weight_b = tree_weight(t, &b->sums);

	return weight_a != weight_b ? weight_a > weight_b : a->step < b->step;
}

/* For qsort(3). */
struct ranked_node {
	uint64_t weight;
	uint32_t step;
	uint32_t number; /* among its siblings */
};

static int compare_ranked_nodes(const void *left, const void *right)
{
	const struct ranked_node *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->step < b->step ? 1 : -1;
}

#define FEW 12

/* The last one is drawn first. Most nodes have few children. */
static void sort_children(const struct tree *t, struct tree_node *children, size_t n)
{
	for (size_t i = 1; i < n && n <= FEW; i++) {
		const struct tree_node node = children[i];
		size_t k = i;

		for (; k > 0 && is_node_before(t, &children[k - 1], &node); k--)
			children[k] = children[k - 1];
		children[k] = node;
	}
	if (n <= FEW)
		return;

	cleanup_free struct ranked_node *ranked = xcalloc(n, sizeof(*ranked));

	cleanup_free struct tree_node *copy = xreallocarray(NULL, n, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked_node){ tree_weight(t, &children[i].sums),
						  children[i].step, (uint32_t)i };
	qsort(ranked, n, sizeof(*ranked), compare_ranked_nodes);
	memcpy(copy, children, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		children[i] = copy[ranked[i].number];
}

/* Make one node of children that are small. Returns the number of the others. */
static size_t join_small(const struct tree *t, struct tree_node *children, size_t n,
			 struct tree_node *more)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_node_small(t, &children[i].sums)) {
			more->n++;
			add_tree_sums(&more->sums, &children[i].sums);
		} else {
			children[n_kept++] = children[i];
		}
	}
	return n_kept;
}

void tree_push(struct tree *t, const struct tree_node *parent)
{
	const size_t first = t->n_nodes;
	size_t n = find_children(t, parent);
	struct tree_node *children = t->nodes + first;
	struct tree_node more = { .step = STEP_MORE,
				  .level = parent->level + 1,
				  .indentation = parent->indentation,
				  .parent = parent->sums };

	sort_items(t, parent, children, n);
	n = join_small(t, children, n, &more);
	if (n > 1)
		sort_children(t, children, n);
	t->n_nodes = first + n;
	if (more.n) {
		array_push(t->nodes, t->n_nodes, t->node_capacity, more);
		children = t->nodes + first; /* may have moved */
		memmove(children + 1, children, n * sizeof(*children));
		children[0] = more;
	}
	if (t->n_nodes > first)
		t->nodes[first].is_last = true;
}

bool tree_follow(struct tree *t, struct tree_node *node, uint32_t *ret)
{
	if (!take_steps(t, node))
		return false;
	*ret = t->items[node->first].step;
	node->depth += *ret != STEP_END;
	return true;
}

bool tree_next(struct tree *t, struct tree_node *ret)
{
	if (!t->n_nodes)
		return false;
	*ret = t->nodes[--t->n_nodes];
	return true;
}

/* --- the whole --- */

void tree_init(struct tree *t, const struct profile *p, const struct render_style *style)
{
	*t = (struct tree){ .p = p, .style = style };
	t->items = xcalloc(p->n_stacks + 1, sizeof(*t->items));
	t->sorted = xcalloc(p->n_stacks + 1, sizeof(*t->sorted));
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];

		t->items[i] = (struct tree_item){ .stack = (uint32_t)i,
						  .frames = stack->frames,
						  .n_kernel = stack->n_kernel,
						  .n_user = stack->n_user,
						  .sums = { stack->count, stack->count_before } };
	}
	number_processes(t);
	t->places = xcalloc(STEP_FRAMES + p->frames.n + t->n_processes, sizeof(*t->places));
}

void tree_end(struct tree *t)
{
	free(t->items);
	free(t->sorted);
	free(t->nodes);
	free(t->places);
	free(t->processes);
	free(t->process_stacks);
}

struct tree_node tree_root(struct tree *t)
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
