// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/profile.h"

#include <stdlib.h>

#include "base/alloc.h"

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_blocks; i++)
		free(p->blocks[i].frames);
	free(p->blocks);
	free(p->frames.frames);
	free(p->stacks);
	free(p->losses);
	strtab_free(p->strings);
	free(p);
}

void profile_freep(struct profile **p)
{
	profile_free(*p);
	*p = NULL;
}

/* The key of sorting. Has the stack's number, because qsort() does not keep the order of equals. */
struct rank {
	uint64_t count;
	size_t stack;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

void profile_choose(struct profile *p, uint64_t min, size_t top)
{
	struct rank *ranks = xcalloc(p->n_stacks + 1, sizeof(*ranks));
	struct profile_stack *kept = xcalloc(p->n_stacks + 1, sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; i < p->n_stacks; i++)
		ranks[i] = (struct rank){ .count = p->stacks[i].count, .stack = i };
	qsort(ranks, p->n_stacks, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < p->n_stacks; i++) {
		if (ranks[i].count < min || (top && p->n_stacks - i > top)) {
			p->hidden += ranks[i].count;
			p->n_hidden++;
		} else {
			kept[n++] = p->stacks[ranks[i].stack];
		}
	}
	free(ranks);
	free(p->stacks);
	p->stacks = kept;
	p->n_stacks = n;
}

void profile_add_loss(struct profile *p, const char *reason, uint64_t n)
{
	if (!n)
		return;
	p->losses = xreallocarray(p->losses, p->n_losses + 1, sizeof(*p->losses));
	p->losses[p->n_losses++] = (struct profile_loss){ reason, n };
}
