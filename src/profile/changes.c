// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturated.h"
#include "base/text.h"
#include "profile/coarse.h"
#include "profile/noise.h"

#define ALPHA 0.05
#define LEAST_SLICES 20
#define LEAST_FILES 3
/* Neighbouring slices are joined into at most this many groups: a variance needs no more. */
#define MOST_GROUPS 64
#define MOST_CELLS (1 << 20) /* functions times groups: many functions get fewer groups */
/*
 * A function with fewer hits, of both sides together, is not compared: its change can only be
 * noise. And each comparison makes claims about others harder (Holm's method).
 */
#define LEAST_HITS 10

/* One side: counts by function and group. */
struct half {
	const struct changes_side *from;
	bool is_before;    /* of a difference: the values before the change */
	uint32_t **frames; /* by profile: numbers in the common table */
	size_t n_slices;   /* of all profiles */
	size_t n_groups;   /* at least 1 */
	double *self;      /* by function, then by group */
	double *total;
	double *weights;   /* by group */
	int64_t *self_sum; /* by function, exact */
	int64_t *total_sum;
	int64_t sum; /* of all hits, with those hidden */
};

/* Of one stack: its functions, each once. */
struct functions {
	size_t n_all;
	size_t *last_seen; /* by function: number of the last stack that has it, counted from 1 */
	size_t n_stacks;
	uint32_t *of_stack;
	size_t n;
	uint32_t self; /* NO_FUNCTION: the stack has none */
};

#define NO_FUNCTION UINT32_MAX

static void find_functions(struct functions *f, const struct profile *p,
			   const struct profile_stack *stack, const uint32_t *numbers)
{
	const size_t n_frames = (size_t)stack->n_kernel + stack->n_user;

	f->n = 0;
	f->n_stacks++;
	f->self = NO_FUNCTION;
	for (size_t i = 0; i < n_frames; i++) {
		const uint32_t number = numbers[stack->frames[i]];

		if (frame_is_mark(&p->frames.frames[stack->frames[i]]))
			continue;
		if (f->self == NO_FUNCTION)
			f->self = number;
		if (f->last_seen[number] == f->n_stacks)
			continue;
		f->last_seen[number] = f->n_stacks;
		f->of_stack[f->n++] = number;
	}
}

/* --- what was counted --- */

static void add_group_count(struct half *h, const struct functions *f, int64_t count, size_t group)
{
	const double number = (double)count;

	if (f->self != NO_FUNCTION)
		h->self[f->self * h->n_groups + group] += number;
	for (size_t i = 0; i < f->n; i++)
		h->total[f->of_stack[i] * h->n_groups + group] += number;
}

static void add_stack_to_half(struct half *h, const struct functions *f, int64_t count)
{
	if (f->self != NO_FUNCTION)
		add_to(&h->self_sum[f->self], count);
	for (size_t i = 0; i < f->n; i++)
		add_to(&h->total_sum[f->of_stack[i]], count);
}

/* The group of a slice, or of profile number @k. */
static size_t group_of_slice(const struct half *h, enum changes_basis basis, size_t k, size_t slice)
{
	switch (basis) {
	case CHANGES_SLICES:
		return slice * h->n_groups / h->n_slices;
	case CHANGES_FILES:
		return k;
	default:
		return 0;
	}
}

/* @first_slice: the number of the profile's first one among those of all profiles. */
static void collect_profile(struct half *h, struct functions *f, enum changes_basis basis, size_t k,
			    size_t first_slice)
{
	const struct profile *p = h->from->of[k];
	size_t part = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];
		const int64_t count = h->is_before ? stack->count_before : stack->count;

		find_functions(f, p, stack, h->frames[k]);
		add_stack_to_half(h, f, count);
		if (basis != CHANGES_SLICES)
			add_group_count(h, f, count, group_of_slice(h, basis, k, 0));
		for (; part < p->n_parts && p->parts[part].stack == i; part++)
			if (basis == CHANGES_SLICES)
				add_group_count(h, f, p->parts[part].count,
						group_of_slice(h, basis, k,
							       first_slice + p->parts[part].slice));
	}
	add_to(&h->sum, h->is_before ? p->total_before : p->total);
}

static void collect_half(struct half *h, struct functions *f, enum changes_basis basis)
{
	size_t first_slice = 0;

	h->self = xcalloc(f->n_all * h->n_groups + 1, sizeof(*h->self));
	h->total = xcalloc(f->n_all * h->n_groups + 1, sizeof(*h->total));
	h->self_sum = xcalloc(f->n_all + 1, sizeof(*h->self_sum));
	h->total_sum = xcalloc(f->n_all + 1, sizeof(*h->total_sum));
	h->weights = xcalloc(h->n_groups, sizeof(*h->weights));
	for (size_t k = 0; k < h->from->n; k++) {
		collect_profile(h, f, basis, k, first_slice);
		first_slice += h->from->of[k]->n_slices;
	}
}

/* --- weights --- */

static bool has_durations(const struct half *h, enum changes_basis basis)
{
	for (size_t k = 0; k < h->from->n; k++) {
		const struct profile *p = h->from->of[k];

		if (basis != CHANGES_SLICES && !p->about.duration_ns)
			return false;
		for (size_t i = 0; i < p->n_slices && basis == CHANGES_SLICES; i++)
			if (p->slices[i].end_ns <= p->slices[i].begin_ns)
				return false;
	}
	return true;
}

/* The time of each group. If it is not known, all slices or profiles take equally long. */
static void weigh_by_time(struct half *h, enum changes_basis basis, bool has_times)
{
	size_t slice = 0;

	for (size_t k = 0; k < h->from->n; k++) {
		const struct profile *p = h->from->of[k];

		if (basis != CHANGES_SLICES)
			h->weights[group_of_slice(h, basis, k, 0)] +=
				has_times ? (double)p->about.duration_ns : 1;
		for (size_t i = 0; i < p->n_slices && basis == CHANGES_SLICES; i++, slice++)
			h->weights[group_of_slice(h, basis, k, slice)] +=
				has_times ? (double)(p->slices[i].end_ns - p->slices[i].begin_ns)
					  : 1;
	}
}

/* All hits of each group. */
static void weigh_by_hits(struct half *h, enum changes_basis basis)
{
	size_t first_slice = 0;

	for (size_t k = 0; k < h->from->n; k++) {
		const struct profile *p = h->from->of[k];

		if (basis != CHANGES_SLICES)
			h->weights[group_of_slice(h, basis, k, 0)] += (double)p->total;
		for (size_t i = 0; i < p->n_parts && basis == CHANGES_SLICES; i++)
			h->weights[group_of_slice(h, basis, k, first_slice + p->parts[i].slice)] +=
				(double)p->parts[i].count;
		first_slice += p->n_slices;
	}
}

static void weigh_halves(struct half *halves, enum changes_basis basis, bool normalize)
{
	const bool has_times = has_durations(&halves[0], basis) && has_durations(&halves[1], basis);

	for (int side = 0; side < 2; side++) {
		if (normalize)
			weigh_by_hits(&halves[side], basis);
		else
			weigh_by_time(&halves[side], basis, has_times);
	}
}

/* --- claims --- */

/* @counts: of one function. */
static struct noise_series series_of(const struct half *h, const double *counts, size_t function)
{
	return (struct noise_series){ .counts = counts + function * h->n_groups,
				      .weights = h->weights,
				      .n = h->n_groups };
}

static bool has_samples(const struct profile *p)
{
	for (size_t i = 0; i < p->n_values; i++)
		if (text_is_same(p->values[i].name, "samples"))
			return true;
	return false;
}

static bool is_sampled(const struct changes_side *side)
{
	for (size_t k = 0; k < side->n; k++)
		if (!has_samples(side->of[k]))
			return false;
	return side->n > 0;
}

/* --- the size of a hit --- */

static bool is_count(const struct profile_value *value)
{
	return text_is_same(value->unit, "count");
}

static double absolute_number(int64_t n)
{
	return n < 0 ? -(double)n : (double)n;
}

/* Add up value @i of all stacks. */
static double sum_value(const struct changes_side *side, size_t i)
{
	double sum = 0;

	for (size_t k = 0; k < side->n; k++)
		for (size_t s = 0; s < side->of[k]->n_stacks; s++) {
			const struct profile_stack *stack = &side->of[k]->stacks[s];

			if (i == 0)
				sum += absolute_number(stack->count);
			else if (i < side->of[k]->n_values && stack->more)
				sum += absolute_number(stack->more[i - 1]);
		}
	return sum;
}

/*
 * Noise is about hits, but the first value may be nanoseconds or bytes. So it is measured in the
 * mean value of a hit. If several values count something, the largest size claims least. 0: nothing
 * is counted, so nobody knows.
 */
static double size_of_hit(const struct half *halves)
{
	const struct profile *p = halves[0].from->n ? halves[0].from->of[0] : NULL;
	double largest = 0;

	if (!p || is_count(&p->values[0]))
		return 1;

	const double sum = sum_value(halves[0].from, 0) + sum_value(halves[1].from, 0);

	for (size_t i = 1; i < p->n_values; i++) {
		const double hits = is_count(&p->values[i]) ? sum_value(halves[0].from, i) +
								      sum_value(halves[1].from, i)
							    : 0;

		if (hits > 0 && sum / hits > largest)
			largest = sum / hits;
	}
	return largest;
}

static void count_in_hits(struct half *h, size_t n_functions, double size)
{
	for (size_t i = 0; i < n_functions * h->n_groups && size != 1; i++) {
		h->self[i] /= size;
		h->total[i] /= size;
	}
}

static double compare_value(const struct changes *c, const struct noise_series *after,
			    const struct noise_series *before, bool sampled)
{
	const struct noise_rules rules = { .slices_follow = c->basis == CHANGES_SLICES,
					   .least_variance = c->basis == CHANGES_FILES ? 1 : 0,
					   .is_sampled = sampled };

	if (c->basis == CHANGES_SAMPLES)
		return noise_probability_poisson(after->counts[0], after->weights[0],
						 before->counts[0], before->weights[0]);
	return noise_probability(after, before, &rules);
}

/* Compares self and total of each function with enough hits, and makes claims. */
static void make_claims(struct changes *c, const struct half *halves, double size, bool sampled)
{
	const struct half *after = &halves[0], *before = &halves[1];
	double *probabilities = xcalloc(2 * c->n + 1, sizeof(*probabilities));
	struct changed_value **values = xcalloc(2 * c->n + 1, sizeof(struct changed_value *));
	bool *claims = xcalloc(2 * c->n + 1, sizeof(*claims));

	for (size_t i = 0; i < 2 * c->n; i++) {
		const bool is_self = i % 2 == 0;
		const uint32_t f = c->rows[i / 2].frame;
		const int64_t hits =
			is_self ? add_saturated(after->self_sum[f], before->self_sum[f])
				: add_saturated(after->total_sum[f], before->total_sum[f]);
		const struct noise_series now =
			series_of(after, is_self ? after->self : after->total, f);
		const struct noise_series then =
			series_of(before, is_self ? before->self : before->total, f);

		if ((double)hits < LEAST_HITS * size)
			continue;
		values[c->n_compared] = is_self ? &c->rows[i / 2].self : &c->rows[i / 2].total;
		probabilities[c->n_compared++] = compare_value(c, &now, &then, sampled);
	}
	noise_claims(probabilities, c->n_compared, c->alpha, claims);
	for (size_t i = 0; i < c->n_compared; i++) {
		values[i]->probability = probabilities[i];
		values[i]->is_beyond_noise = claims[i];
	}
	free(probabilities);
	free(values);
	free(claims);
}

/* --- the table --- */

static int64_t size_of_change(const struct changed_value *v)
{
	const int64_t change = subtract_saturated(v->after, v->before);

	return change < 0 ? subtract_saturated(0, change) : change;
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	const int64_t self_a = size_of_change(&a->self), self_b = size_of_change(&b->self);
	const int64_t total_a = size_of_change(&a->total), total_b = size_of_change(&b->total);

	if (self_a != self_b)
		return self_a > self_b ? -1 : 1;
	if (total_a != total_b)
		return total_a > total_b ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int64_t scale_count(int64_t count, double scale)
{
	const double scaled = (double)count * scale;
	const double limit = 9e18;

	if (scaled > limit || scaled < -limit)
		return scaled > 0 ? INT64_MAX : INT64_MIN;
	return (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
}

static struct changed_value changed_value_of(int64_t after, int64_t before, double scale)
{
	return (struct changed_value){ .after = after,
				       .before = scale == 1 ? before : scale_count(before, scale),
				       .probability = 1 };
}

static void make_change_rows(struct changes *c, const struct half *halves)
{
	const struct half *after = &halves[0], *before = &halves[1];
	const bool is_scaled = c->is_normalized && after->sum > 0 && before->sum > 0;
	const double scale = is_scaled ? (double)after->sum / (double)before->sum : 1;

	c->rows = xcalloc(c->frames.n + 1, sizeof(*c->rows));
	for (uint32_t f = 0; f < c->frames.n; f++)
		if (!frame_is_mark(&c->frames.frames[f]))
			c->rows[c->n++] = (struct change){
				.frame = f,
				.self = changed_value_of(after->self_sum[f], before->self_sum[f],
							 scale),
				.total = changed_value_of(after->total_sum[f], before->total_sum[f],
							  scale),
			};
}

/* Takes over the table, but neither its texts nor its images. */
static void take_frames(struct changes *c, struct coarse *coarse)
{
	c->frames.n = coarse->table.n;
	c->frames.frames = TAKE(coarse->table.frames);
	c->strings = strtab_new();
	for (size_t i = 0; i < c->frames.n; i++) {
		struct frame *frame = &c->frames.frames[i];

		frame->name = strtab_add_or_null(c->strings, frame->name);
		frame->module = strtab_add_or_null(c->strings, frame->module);
		frame->raw_name = NULL;
		frame->file = NULL;
		frame->image = NO_IMAGE;
	}
}

/* --- all together --- */

static void number_frames(struct half *h, struct coarse *coarse)
{
	h->frames = xcalloc(h->from->n + 1, sizeof(*h->frames));
	for (size_t k = 0; k < h->from->n; k++) {
		h->frames[k] = coarse_add(coarse, &h->from->of[k]->frames);
		h->n_slices += h->from->of[k]->n_slices;
	}
}

static enum changes_basis find_basis(const struct half *halves, double size)
{
	if (halves[1].is_before || !(size > 0))
		return CHANGES_NO_DATA;
	if (halves[0].from->n >= LEAST_FILES && halves[1].from->n >= LEAST_FILES)
		return CHANGES_FILES;
	if (halves[0].n_slices >= LEAST_SLICES && halves[1].n_slices >= LEAST_SLICES)
		return CHANGES_SLICES;
	return is_sampled(halves[0].from) && is_sampled(halves[1].from) ? CHANGES_SAMPLES
									: CHANGES_NO_DATA;
}

static size_t n_groups_of(const struct half *h, enum changes_basis basis, size_t n_functions)
{
	size_t most = n_functions ? MOST_CELLS / n_functions : MOST_GROUPS;

	if (basis == CHANGES_FILES)
		return h->from->n;
	if (basis != CHANGES_SLICES)
		return 1;
	most = most < LEAST_SLICES ? LEAST_SLICES : most > MOST_GROUPS ? MOST_GROUPS : most;
	return h->n_slices < most ? h->n_slices : most;
}

static void half_fini(struct half *h)
{
	for (size_t k = 0; k < h->from->n; k++)
		free(h->frames[k]);
	free(h->frames);
	free(h->self);
	free(h->total);
	free(h->weights);
	free(h->self_sum);
	free(h->total_sum);
}

static size_t longest_stack(const struct changes_side *side)
{
	size_t longest = 0;

	for (size_t k = 0; k < side->n; k++)
		for (size_t i = 0; i < side->of[k]->n_stacks; i++) {
			const struct profile_stack *stack = &side->of[k]->stacks[i];
			const size_t n = (size_t)stack->n_kernel + stack->n_user;

			longest = n > longest ? n : longest;
		}
	return longest;
}

static void collect_halves(struct changes *c, struct half *halves)
{
	const size_t of_after = longest_stack(halves[0].from);
	const size_t of_before = longest_stack(halves[1].from);
	struct functions f = { .n_all = c->frames.n };

	f.last_seen = xcalloc(f.n_all + 1, sizeof(*f.last_seen));
	f.of_stack =
		xcalloc((of_after > of_before ? of_after : of_before) + 1, sizeof(*f.of_stack));
	for (int side = 0; side < 2; side++) {
		halves[side].n_groups = n_groups_of(&halves[side], c->basis, f.n_all);
		collect_half(&halves[side], &f, c->basis);
	}
	free(f.last_seen);
	free(f.of_stack);
}

static struct changes *make_changes(struct half *halves, bool normalize)
{
	struct changes *c = xcalloc(1, sizeof(*c));
	struct coarse coarse;

	coarse_init(&coarse, COARSE_NAMES_ONLY);
	number_frames(&halves[0], &coarse);
	number_frames(&halves[1], &coarse);
	take_frames(c, &coarse);
	coarse_fini(&coarse);
	c->is_normalized = normalize;
	c->alpha = ALPHA;

	const double size = size_of_hit(halves);

	c->basis = find_basis(halves, size);
	collect_halves(c, halves);
	make_change_rows(c, halves);
	if (c->basis != CHANGES_NO_DATA) {
		weigh_halves(halves, c->basis, normalize);
		count_in_hits(&halves[0], c->frames.n, size);
		count_in_hits(&halves[1], c->frames.n, size);
		make_claims(c, halves, size,
			    is_sampled(halves[0].from) && is_sampled(halves[1].from));
		c->n_after = c->basis == CHANGES_SLICES ? halves[0].n_slices : halves[0].from->n;
		c->n_before = c->basis == CHANGES_SLICES ? halves[1].n_slices : halves[1].from->n;
	}
	qsort(c->rows, c->n, sizeof(*c->rows), compare_changes);
	half_fini(&halves[0]);
	half_fini(&halves[1]);
	return c;
}

struct changes *changes_new(const struct changes_side *after, const struct changes_side *before,
			    bool normalize)
{
	struct half halves[] = { { .from = after }, { .from = before } };

	return make_changes(halves, normalize);
}

struct changes *changes_of_difference(const struct profile *difference)
{
	const struct changes_side side = { .of = &difference, .n = 1 };
	struct half halves[] = { { .from = &side }, { .from = &side, .is_before = true } };

	struct changes *c = make_changes(halves, false);

	c->is_normalized = difference->is_normalized;
	return c;
}

void changes_free(struct changes *c)
{
	if (!c)
		return;
	free(c->frames.frames);
	free(c->rows);
	strtab_free(c->strings);
	free(c);
}

void changes_freep(struct changes **c)
{
	changes_free(*c);
	*c = NULL;
}
