// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/tree.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"

static size_t node_slot(const struct tree *tree, uint32_t parent, uint64_t word)
{
	size_t i = hash_mix(word ^ hash_mix(parent)) & (tree->n_slots - 1);

	while (tree->slots[i]) {
		const struct tree_node *node = &tree->nodes[tree->slots[i]];

		if (node->parent == parent && node->word == word)
			break;
		i = (i + 1) & (tree->n_slots - 1);
	}
	return i;
}

static void grow_tree(struct tree *tree)
{
	free(tree->slots);
	tree->n_slots = tree->n_slots ? tree->n_slots * 2 : 1024;
	tree->slots = xcalloc(tree->n_slots, sizeof(*tree->slots));
	for (size_t i = 1; i < tree->n; i++)
		tree->slots[node_slot(tree, tree->nodes[i].parent, tree->nodes[i].word)] = i;
}

uint32_t tree_add(struct tree *tree, const uint64_t *words, size_t n)
{
	uint32_t at = TREE_ROOT;

	if (!tree->n)
		array_push(tree->nodes, tree->n, tree->capacity, (struct tree_node){});
	while (n-- > 0) {
		if (tree->n * 2 >= tree->n_slots)
			grow_tree(tree);

		size_t slot = node_slot(tree, at, words[n]);

		if (!tree->slots[slot]) {
			struct tree_node node = { .word = words[n], .parent = at };

			tree->slots[slot] = tree->n;
			array_push(tree->nodes, tree->n, tree->capacity, node);
		}
		at = tree->slots[slot];
	}
	return at;
}

size_t tree_words(const struct tree *tree, uint32_t number, uint64_t *to, size_t max)
{
	size_t n = 0;

	for (; number != TREE_ROOT && n < max; number = tree->nodes[number].parent)
		to[n++] = tree->nodes[number].word;
	return n;
}

size_t tree_bytes(const struct tree *tree)
{
	return tree->capacity * sizeof(*tree->nodes) + tree->n_slots * sizeof(*tree->slots);
}

void tree_fini(struct tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
	*tree = (struct tree){};
}
