/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/tree.h - stacks as paths in one tree, from the outermost frame inwards.
 *
 * Stacks of one program share most of their outer frames. So a further stack costs a few nodes
 * instead of all its frames. A stack's number is the node of its innermost frame. The way from
 * there to the root is the stack.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TREE_ROOT 0 /* the empty stack */

struct tree_node {
	uint64_t word; /* address or mark, see bpf/abi.h */
	uint32_t parent;
	uint32_t pad;
};

/* A zeroed tree is empty. */
struct tree {
	struct tree_node *nodes; /* [0] is the root */
	size_t n;
	size_t capacity;
	uint32_t *slots; /* node numbers by (parent, word); open addressing; 0 is free */
	size_t n_slots;
};

/* Returns the number of the stack of @n words, innermost first. Adds it if it is new. */
uint32_t tree_add(struct tree *tree, const uint64_t *words, size_t n);

/* Write the words of stack @number to @to, innermost first. Returns how many, at most @max. */
size_t tree_words(const struct tree *tree, uint32_t number, uint64_t *to, size_t max);

size_t tree_bytes(const struct tree *tree);
void tree_fini(struct tree *tree);
