/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/tree.h - the stacks of a profile as the nodes of a tree, one after the other.
 *
 * The tree is never in memory. A node is a range of stacks that begin with the same steps. Its
 * children are parts of the range, so there are never more nodes than stacks. Nothing is recursive,
 * since the depth of stacks in files is any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "report/render.h"

/* A step of a stack on its way from the root. Frames have the numbers from STEP_FRAMES on, and
 * processes those after the last frame. */
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
	uint32_t step; /* at the depth of the last node that tree_follow() saw */
	uint32_t stack;
	const uint32_t *frames;
	uint32_t n_kernel, n_user;
	struct tree_sums sums;
};

struct tree {
	const struct profile *p;
	const struct render_style *style;
	struct tree_item *items, *sorted; /* of all stacks; @sorted is scratch memory */
	struct tree_node *nodes;          /* to come, last one first */
	size_t n_nodes, node_capacity;
	uint32_t *places;    /* by step: number of the child plus 1, while children are found */
	uint32_t *processes; /* by stack: its number; NULL unless per process */
	const struct profile_stack **process_stacks; /* by process: one of its stacks */
	size_t n_processes, process_capacity;
};

/* Keeps @p and @style. */
void tree_init(struct tree *t, const struct profile *p, const struct render_style *style);
void tree_end(struct tree *t);

/* The root, whose children are to come first. */
struct tree_node tree_root(struct tree *t);

/* The next node to come, parents before children. False: there is none. */
bool tree_next(struct tree *t, struct tree_node *ret);

/*
 * The first item of the node that comes @n nodes after the next one, so that its frames can be
 * fetched into the cache. NULL: there is none.
 */
static inline const struct tree_item *tree_ahead(const struct tree *t, size_t n)
{
	const struct tree_node *node = n < t->n_nodes ? &t->nodes[t->n_nodes - 1 - n] : NULL;

	return node && node->step < STEP_HIDDEN ? &t->items[node->first] : NULL;
}

/*
 * If all stacks of @node take the same step, the step is in *@ret and the node is one deeper,
 * unless the step is STEP_END. Otherwise returns false, and tree_push() has to follow.
 */
bool tree_follow(struct tree *t, struct tree_node *node, uint32_t *ret);

/* The children of @parent are to come next, largest first. */
void tree_push(struct tree *t, const struct tree_node *parent);

int64_t tree_change(const struct tree_sums *sums);

/* Per cent; 0 if there is no whole. */
double tree_share(int64_t part, int64_t whole);
