// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/profile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/saturated.h"
#include "base/text.h"

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_blocks; i++)
		free(p->blocks[i].frames);
	free(p->blocks);
	for (size_t i = 0; i < p->n_labels; i++)
		free((void *)p->labels[i].of);
	free(p->labels);
	free(p->frames.frames);
	free(p->frames.images);
	free(p->stacks);
	free(p->numbers);
	free(p->slices);
	free(p->parts);
	free(p->losses);
	strtab_free(p->strings);
	free(p);
}

void profile_freep(struct profile **p)
{
	profile_free(*p);
	*p = NULL;
}

static void swap_numbers(int64_t *a, int64_t *b)
{
	const int64_t old = *a;

	*a = *b;
	*b = old;
}

void profile_put_value_first(struct profile *p, size_t i)
{
	const struct profile_value first = p->values[0];

	if (i == 0 || i >= p->n_values)
		return;
	p->values[0] = p->values[i];
	p->values[i] = first;
	p->total = p->total_before = p->hidden = p->hidden_before = 0;
	for (size_t k = 0; k < p->n_stacks; k++) {
		struct profile_stack *stack = &p->stacks[k];

		/* They are in p->numbers. */
		if (stack->more)
			swap_numbers(&stack->count, (int64_t *)&stack->more[i - 1]);
		if (stack->more_before)
			swap_numbers(&stack->count_before, (int64_t *)&stack->more_before[i - 1]);
		add_to(&p->total, stack->count);
		add_to(&p->total_before, stack->count_before);
	}
	p->n_parts = p->n_slices = 0;
}

/* The key of sorting. Has the stack's number, because qsort() does not keep the order of equals. */
struct rank {
	uint64_t weight;
	size_t stack;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static uint64_t count_magnitude(int64_t n)
{
	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

static uint64_t stack_weight(const struct profile *p, const struct profile_stack *stack)
{
	return count_magnitude(p->is_difference
				       ? subtract_saturated(stack->count, stack->count_before)
				       : stack->count);
}

static uint64_t larger_count(const struct profile_stack *stack)
{
	const uint64_t now = count_magnitude(stack->count),
		       before = count_magnitude(stack->count_before);

	return now > before ? now : before;
}

/* Keep the parts of stacks that are still there. @numbers: new ones plus 1, 0: removed. */
static void renumber_parts(struct profile *p, const uint32_t *numbers)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_parts; i++) {
		struct profile_part part = p->parts[i];

		if (!numbers[part.stack])
			continue;
		part.stack = numbers[part.stack] - 1;
		p->parts[n++] = part;
	}
	p->n_parts = n;
	if (n)
		qsort(p->parts, n, sizeof(*p->parts), profile_compare_parts);
}

size_t profile_hits_value(const struct profile *p)
{
	for (size_t i = 1; i < p->n_values; i++)
		if (text_is_same(p->values[i].name, "hits"))
			return i;
	return 0;
}

uint64_t profile_n_hits(const struct profile *p)
{
	const size_t i = profile_hits_value(p);
	int64_t n = i ? p->hidden_hits : p->total;

	if (p->is_difference || (!i && !text_is_same(p->values[0].name, "hits")))
		return 0;
	for (size_t k = 0; i && k < p->n_stacks; k++)
		add_to(&n, p->stacks[k].more ? p->stacks[k].more[i - 1] : 0);
	return (uint64_t)n;
}

void profile_choose(struct profile *p, uint64_t min, size_t top)
{
	struct rank *ranks = xcalloc(p->n_stacks + 1, sizeof(*ranks));
	struct profile_stack *kept = xcalloc(p->n_stacks + 1, sizeof(*kept));
	uint32_t *numbers = xcalloc(p->n_stacks + 1, sizeof(*numbers));
	const size_t hits = profile_hits_value(p);
	size_t n = 0;

	for (size_t i = 0; i < p->n_stacks; i++)
		ranks[i] = (struct rank){ stack_weight(p, &p->stacks[i]), i };
	qsort(ranks, p->n_stacks, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[ranks[i].stack];

		if (larger_count(stack) < min || (top && p->n_stacks - i > top)) {
			p->hidden = add_saturated(p->hidden, stack->count);
			p->hidden_before = add_saturated(p->hidden_before, stack->count_before);
			if (hits && stack->more)
				add_to(&p->hidden_hits, stack->more[hits - 1]);
			p->n_hidden++;
		} else {
			kept[n++] = *stack;
			numbers[ranks[i].stack] = (uint32_t)n;
		}
	}
	renumber_parts(p, numbers);
	free(numbers);
	free(ranks);
	free(p->stacks);
	p->stacks = kept;
	p->n_stacks = n;
}

int profile_compare_parts(const void *left, const void *right)
{
	const struct profile_part *a = left, *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->slice < b->slice ? -1 : a->slice > b->slice;
}

void profile_add_loss(struct profile *p, const char *reason, uint64_t n)
{
	if (!n)
		return;
	p->strings = p->strings ? p->strings : strtab_new();
	p->losses = xreallocarray(p->losses, p->n_losses + 1, sizeof(*p->losses));
	p->losses[p->n_losses++] = (struct profile_loss){ strtab_add(p->strings, reason), n };
}
