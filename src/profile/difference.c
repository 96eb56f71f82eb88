// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/difference.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturated.h"
#include "profile/builder.h"
#include "profile/coarse.h"
#include "profile/merge.h"

static bool has_comms(const struct profile *p)
{
	for (size_t i = 0; i < p->n_stacks; i++)
		if (p->stacks[i].comm)
			return true;
	return false;
}

static bool has_label(const struct profile *p, const char *key)
{
	for (size_t set = 0; set < p->n_labels; set++)
		for (size_t i = 0; i < p->labels[set].n; i++)
			if (p->labels[set].of[i].text && strcmp(p->labels[set].of[i].key, key) == 0)
				return true;
	return false;
}

/* The labels of @set that stacks of @other can have, too. Returns the new number. */
static uint32_t common_labels(struct profile_builder *b, const struct profile_labels *set,
			      const struct profile *other)
{
	cleanup_free struct profile_label *common = xcalloc(set->n + 1, sizeof(*common));
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (set->of[i].text && has_label(other, set->of[i].key))
			common[n++] = set->of[i];
	return profile_builder_labels(b, common, n);
}

/*
 * @p with the values after a change, and with the labels that stacks of @other can have, too. NULL
 * if it is like that already.
 */
static struct profile *make_difference_side(const struct profile *p, const struct profile *other)
{
	if (p->n_labels <= 1 && !p->is_difference)
		return NULL;

	struct profile_builder *b = profile_builder_new(p->n_values);
	cleanup_free uint32_t *labels = xcalloc(p->n_labels + 1, sizeof(*labels));

	for (size_t set = 1; set < p->n_labels; set++)
		labels[set] = common_labels(b, &p->labels[set], other);
	for (size_t i = 0; i < p->n_stacks; i++) {
		struct profile_stack stack = p->stacks[i];

		stack.labels = labels[stack.labels];
		stack.count_before = 0;
		stack.more_before = NULL;
		profile_builder_add(b, &stack);
	}

	struct profile *side = profile_builder_finish(b, &p->frames);

	profile_builder_free(b);
	memcpy(side->values, p->values, sizeof(p->values));
	side->about = p->about;
	side->hidden = p->hidden;
	side->n_hidden = p->n_hidden;
	for (size_t i = 0; i < p->n_losses; i++)
		profile_add_loss(side, p->losses[i].reason, p->losses[i].n);
	return side;
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

struct profile *profile_difference(const struct profile *after, const struct profile *before,
				   bool normalize)
{
	const bool is_by_comm = has_comms(after) && has_comms(before);
	cleanup(profile_freep) struct profile *now = make_difference_side(after, before);
	cleanup(profile_freep) struct profile *then = make_difference_side(before, after);
	const struct profile *const both[] = { now ? now : after, then ? then : before };
	const struct profile_sides sides = { .of = both, .n = 2, .n_after = 1 };
	struct profile *p = profile_merge_sides(&sides, COARSE_NAMES_ONLY | KEEP_LABELS |
								(is_by_comm ? KEEP_COMMS : 0U));

	p->is_normalized = normalize;
	for (size_t i = 0; i < p->n_values && normalize; i++)
		normalize_value(p, i);
	return p;
}
