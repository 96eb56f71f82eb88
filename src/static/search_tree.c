// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libelf.a and libdw.a of elfutils 0.192 (Debian 13) call these functions, which only its shared
 * libraries contain. They do the work of tsearch(3) and its like, for a structure that begins with
 * the root. The linker searches this library after elfutils', so other versions use their own
 * functions.
 */
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root;
};

typedef int comparison(const void *a, const void *b);

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, struct search_tree *tree, comparison *compare);
void *eu_tfind(const void *key, struct search_tree *tree, comparison *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, comparison *compare);
void eu_tdestroy(struct search_tree *tree, void (*free_node)(void *));

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	eu_tdestroy(tree, free_node);
}

void *eu_tsearch(const void *key, struct search_tree *tree, comparison *compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tfind(const void *key, struct search_tree *tree, comparison *compare)
{
	return tfind(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, comparison *compare)
{
	return tdelete(key, &tree->root, compare);
}

void eu_tdestroy(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}
