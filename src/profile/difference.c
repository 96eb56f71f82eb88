// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/difference.h"

#include "base/saturated.h"

static bool has_comms(const struct profile *const *of, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < of[k]->n_stacks; i++)
			if (of[k]->stacks[i].comm)
				return true;
	return false;
}

/* --- normalizing --- */

__extension__ typedef __int128 wide;

/*
 * Scales numbers one after the other so that their sum is scaled exactly. Each is rounded, and the
 * next one takes over the rest.
 */
struct scale {
	int64_t to, from; /* sums */
	int64_t seen;     /* the sum of the numbers so far */
	wide given;       /* the sum of the scaled ones */
};

/* Nothing is scaled if a sum is not above 0. */
static int64_t scale_next(struct scale *s, int64_t number)
{
	if (s->to <= 0 || s->from <= 0)
		return number;
	add_to(&s->seen, number);

	const wide sum = ((wide)s->seen * s->to + s->from / 2) / s->from;
	const wide next = sum - s->given;

	s->given = sum;
	return next > INT64_MAX ? INT64_MAX : next < INT64_MIN ? INT64_MIN : (int64_t)next;
}

/* The values of number @i of a stack, after and before. */
static int64_t *difference_value_at(struct profile *p, size_t stack, size_t i)
{
	return i ? &p->numbers[2 * (p->n_values - 1) * stack + i - 1] : &p->stacks[stack].count;
}

static int64_t *value_before_of(struct profile *p, size_t stack, size_t i)
{
	return i ? difference_value_at(p, stack, i) + p->n_values - 1
		 : &p->stacks[stack].count_before;
}

static void normalize_value(struct profile *p, size_t value)
{
	struct scale scale = {};

	for (size_t i = 0; i < p->n_stacks; i++) {
		add_to(&scale.to, *difference_value_at(p, i, value));
		add_to(&scale.from, *value_before_of(p, i, value));
	}
	if (value == 0) { /* with hidden stacks */
		scale.to = p->total;
		scale.from = p->total_before;
	}
	for (size_t i = 0; i < p->n_stacks; i++)
		*value_before_of(p, i, value) = scale_next(&scale, *value_before_of(p, i, value));
	if (value == 0) {
		p->hidden_before = scale_next(&scale, p->hidden_before);
		p->total_before = scale.to > 0 && scale.from > 0 ? scale.to : scale.from;
	}
}

struct profile *profile_difference(const struct profile_sides *sides, unsigned keep, bool normalize)
{
	const size_t n_after = sides->n_after;

	if (!has_comms(sides->of, n_after) || !has_comms(sides->of + n_after, sides->n - n_after))
		keep &= ~(unsigned)KEEP_COMMS;

	struct profile *p = profile_merge_sides(sides, keep | MERGE_BUILDS);

	p->is_normalized = p->is_normalized || normalize;
	for (size_t i = 0; i < p->n_values && normalize; i++)
		normalize_value(p, i);
	return p;
}
