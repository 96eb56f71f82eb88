// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A change is beyond noise if it is larger than three standard errors. With a function's counts
 * x[i] in the n slices of a side, weights w[i] and the rate r = sum(x) / sum(w):
 *
 *	var(r) = n / (n - 1) * sum((x[i] - r * w[i])^2) / sum(w)^2
 *	(r1 - r2)^2 > 9 * (var(r1) + var(r2))
 *
 * A slice's weight is its time, so that rates are hits for each second; with normalizing, all its
 * hits, so that they are shares.
 */
#include "profile/changes.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/saturated.h"

/* Fewer slices say too little about their variance. */
#define LEAST_SLICES 20
#define ERRORS 3

enum { AFTER, BEFORE, N_SIDES };

/* Sums of the slices of a side. */
struct side {
	double n;
	double weight;
	double squares; /* of weights */
};

/* Self or total of a function. */
struct value {
	struct changed_value changed;
	uint32_t slice; /* the present one */
	double count;   /* in it, not yet in the sums */
	struct sums {
		double counts, squares;
		double products; /* count * weight */
	} of[N_SIDES];
};

struct work {
	const struct profile *p;
	struct value *values; /* by frame: self, total */
	uint32_t n_stacks;    /* that were looked at */
	uint32_t *last_seen;  /* by frame: the last one of these that has it */
	uint32_t *found;      /* numbers of the present stack's values */
	size_t n_found;
	size_t n_slices_after; /* the first slices of @p are those after the change */
	double *weights;       /* by slice */
	struct side sides[N_SIDES];
};

static void work_fini(struct work *w)
{
	free(w->values);
	free(w->last_seen);
	free(w->found);
	free(w->weights);
}

static void find_values(struct work *w, const struct profile_stack *stack)
{
	const size_t n_frames = (size_t)stack->n_kernel + stack->n_user;

	w->n_found = 0;
	w->n_stacks++;
	for (size_t i = 0; i < n_frames; i++) {
		const uint32_t f = stack->frames[i];

		if (frame_is_mark(&w->p->frames.frames[f]) || w->last_seen[f] == w->n_stacks)
			continue;
		w->last_seen[f] = w->n_stacks;
		if (w->n_found == 0)
			w->found[w->n_found++] = 2 * f;
		w->found[w->n_found++] = 2 * f + 1;
	}
}

static void add_up_stacks(struct work *w)
{
	for (size_t i = 0; i < w->p->n_stacks; i++) {
		const struct profile_stack *stack = &w->p->stacks[i];

		find_values(w, stack);
		for (size_t k = 0; k < w->n_found; k++) {
			struct changed_value *changed = &w->values[w->found[k]].changed;

			add_to(&changed->after, stack->count);
			add_to(&changed->before, stack->count_before);
		}
	}
}

/* --- noise --- */

static size_t side_of_slice(const struct work *w, uint32_t slice)
{
	return slice < w->n_slices_after ? AFTER : BEFORE;
}

static void end_slice(const struct work *w, struct value *v)
{
	struct sums *sums = &v->of[side_of_slice(w, v->slice)];

	sums->counts += v->count;
	sums->squares += v->count * v->count;
	sums->products += v->count * w->weights[v->slice];
	v->count = 0;
}

static int compare_slices(const void *left, const void *right)
{
	const struct profile_part *a = left, *b = right;

	return a->slice < b->slice ? -1 : a->slice > b->slice;
}

static void add_up_parts(struct work *w)
{
	const struct profile *p = w->p;

	if (p->n_parts)
		qsort(p->parts, p->n_parts, sizeof(*p->parts), compare_slices);
	for (size_t i = 0; i < p->n_parts; i++) {
		const struct profile_part *part = &p->parts[i]; /* slice by slice */

		find_values(w, &p->stacks[part->stack]);
		for (size_t k = 0; k < w->n_found; k++) {
			struct value *v = &w->values[w->found[k]];

			if (v->slice != part->slice)
				end_slice(w, v);
			v->slice = part->slice;
			v->count += (double)part->count;
		}
	}
	for (size_t i = 0; i < 2 * p->frames.n; i++)
		end_slice(w, &w->values[i]);
}

/* Returns whether both sides have enough slices, with weights. */
static bool weigh_slices(struct work *w, bool by_hits)
{
	const struct profile *p = w->p;

	w->weights = xcalloc(p->n_slices + 1, sizeof(*w->weights));
	for (size_t i = 0; i < p->n_parts && by_hits; i++)
		w->weights[p->parts[i].slice] += (double)p->parts[i].count;
	for (uint32_t i = 0; i < p->n_slices; i++) {
		struct side *side = &w->sides[side_of_slice(w, i)];

		if (!by_hits)
			w->weights[i] = (double)p->slices[i].end_ns - (double)p->slices[i].begin_ns;
		side->n++;
		side->weight += w->weights[i];
		side->squares += w->weights[i] * w->weights[i];
	}
	for (int i = 0; i < N_SIDES; i++)
		if (w->sides[i].n < LEAST_SLICES || !(w->sides[i].weight > 0))
			return false;
	return true;
}

/* Of the sum of counts. */
static double variance_of(const struct sums *s, const struct side *side)
{
	const double rate = s->counts / side->weight;
	const double squares = s->squares - 2 * rate * s->products + rate * rate * side->squares;

	return squares > 0 ? squares * side->n / (side->n - 1) : 0; /* below 0 by rounding only */
}

/* Without a division, a change of 0 is 0 exactly. */
static bool is_beyond_noise(const struct work *w, const struct value *v)
{
	const struct sums *after = &v->of[AFTER], *before = &v->of[BEFORE];
	const double weight1 = w->sides[AFTER].weight, weight2 = w->sides[BEFORE].weight;
	const double change = after->counts * weight2 - before->counts * weight1;
	const double variance = variance_of(after, &w->sides[AFTER]) * weight2 * weight2 +
				variance_of(before, &w->sides[BEFORE]) * weight1 * weight1;

	return change * change > ERRORS * ERRORS * variance;
}

static void make_claims(struct changes *c, struct work *w)
{
	if (!weigh_slices(w, c->of->is_normalized))
		return;
	add_up_parts(w);
	for (size_t i = 0; i < 2 * c->of->frames.n; i++)
		w->values[i].changed.is_beyond_noise = is_beyond_noise(w, &w->values[i]);
	c->n_after = w->n_slices_after;
	c->n_before = c->of->n_slices - w->n_slices_after;
}

/* --- the table --- */

static uint64_t size_of_change(const struct changed_value *v)
{
	return count_magnitude(subtract_saturated(v->after, v->before));
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	const uint64_t self_a = size_of_change(&a->self), self_b = size_of_change(&b->self);
	const uint64_t total_a = size_of_change(&a->total), total_b = size_of_change(&b->total);

	if (self_a != self_b)
		return self_a > self_b ? -1 : 1;
	if (total_a != total_b)
		return total_a > total_b ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void make_rows(struct changes *c, const struct value *values)
{
	const struct frame_table *frames = &c->of->frames;

	c->rows = xcalloc(frames->n + 1, sizeof(*c->rows));
	for (size_t f = 0; f < frames->n; f++)
		if (!frame_is_mark(&frames->frames[f]))
			c->rows[c->n++] =
				(struct change){ &frames->frames[f], values[2 * f].changed,
						 values[2 * f + 1].changed };
	qsort(c->rows, c->n, sizeof(*c->rows), compare_changes);
}

struct changes *changes_new(const struct profile_sides *sides, bool normalize)
{
	struct changes *c = xcalloc(1, sizeof(*c));
	cleanup(work_fini) struct work w = {};

	w.p = c->of = profile_difference(sides, KEEP_SLICES, normalize);
	for (size_t k = 0; k < sides->n_after; k++)
		w.n_slices_after += sides->of[k]->n_slices ? sides->of[k]->n_slices : 1;
	w.values = xcalloc(2 * w.p->frames.n + 1, sizeof(*w.values));
	w.last_seen = xcalloc(w.p->frames.n + 1, sizeof(*w.last_seen));
	w.found = xcalloc(w.p->frames.n + 2, sizeof(*w.found));
	add_up_stacks(&w);
	make_claims(c, &w);
	make_rows(c, w.values);
	return c;
}

struct changes *changes_of_difference(const struct profile *difference)
{
	const struct profile_sides alone = { .of = &difference, .n = 1, .n_after = 1 };

	return changes_new(&alone, false);
}

void changes_free(struct changes *c)
{
	if (!c)
		return;
	profile_free(c->of);
	free(c->rows);
	free(c);
}
