// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/saturated.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "profile/builder.h"
#include "profile/coarse.h"

/* The result so far, and the state of adding one profile. */
struct merger {
	unsigned keep;
	struct coarse coarse;
	struct profile_builder *builder;
	struct profile_value values[PROFILE_MOST_VALUES];
	size_t n_values;
	uint64_t begin_ns; /* of the result */
	bool is_before;    /* the values of profiles are those before a change, from now on */
	/* Of one profile: its numbers of things are indices. */
	const struct profile *from;
	uint32_t *frames;
	uint32_t *labels;
	size_t places[PROFILE_MOST_VALUES]; /* of values in the result; n_values: none */
	uint32_t *row;                      /* of frame numbers */
	size_t row_capacity;
};

/* --- values --- */

static bool is_same_value(const struct profile_value *a, const struct profile_value *b)
{
	return text_is_same(a->name, b->name) && text_is_same(a->unit, b->unit);
}

/* Of @from's value @i. The second one of a name has the place of the second one. */
static size_t place_of_value(const struct merger *m, const struct profile *from, size_t i)
{
	const struct profile_value *value = &from->values[i];
	size_t n_before = 0;

	for (size_t k = 0; k < i; k++)
		n_before += is_same_value(&from->values[k], value);
	for (size_t place = 0; place < m->n_values; place++)
		if (is_same_value(&m->values[place], value) && n_before-- == 0)
			return place;
	return m->n_values;
}

static void collect_values(struct merger *m, const struct profile *from)
{
	for (size_t i = 0; i < from->n_values; i++)
		if (place_of_value(m, from, i) == m->n_values && m->n_values < PROFILE_MOST_VALUES)
			m->values[m->n_values++] = from->values[i];
}

static int64_t stack_value_at(const struct profile_stack *stack, size_t i)
{
	if (i == 0)
		return stack->count;
	return stack->more ? stack->more[i - 1] : 0;
}

static int64_t value_before_at(const struct profile_stack *stack, size_t i)
{
	if (i == 0)
		return stack->count_before;
	return stack->more_before ? stack->more_before[i - 1] : 0;
}

/* Add up @stack's values at their places in the result. */
static void place_values(const struct merger *m, const struct profile_stack *stack, int64_t *now,
			 int64_t *before)
{
	for (size_t i = 0; i < m->from->n_values; i++) {
		const size_t place = m->places[i];

		if (m->is_before) {
			add_to(&before[place], stack_value_at(stack, i));
		} else {
			add_to(&now[place], stack_value_at(stack, i));
			add_to(&before[place], value_before_at(stack, i));
		}
	}
}

/* --- stacks --- */

static void coarsen_frames(struct merger *m, const struct profile_stack *stack)
{
	const size_t n = (size_t)stack->n_kernel + stack->n_user;

	if (n > m->row_capacity) {
		m->row_capacity = 2 * n;
		m->row = xreallocarray(m->row, m->row_capacity, sizeof(*m->row));
	}
	for (size_t i = 0; i < n; i++)
		m->row[i] = m->frames[stack->frames[i]];
}

static uint32_t merge_stack(struct merger *m, const struct profile_stack *stack)
{
	int64_t now[PROFILE_MOST_VALUES + 1] = {}, before[PROFILE_MOST_VALUES + 1] = {};
	struct profile_stack coarse = { .n_kernel = stack->n_kernel, .n_user = stack->n_user };

	place_values(m, stack, now, before);
	coarsen_frames(m, stack);
	coarse.frames = m->row;
	coarse.count = now[0];
	coarse.more = now + 1;
	coarse.count_before = before[0];
	coarse.more_before = m->is_before || m->from->is_difference ? before + 1 : NULL;
	coarse.pid = m->keep & KEEP_PIDS ? stack->pid : 0;
	coarse.comm = m->keep & KEEP_COMMS ? stack->comm : NULL;
	coarse.labels = m->keep & KEEP_LABELS ? m->labels[stack->labels] : 0;
	return profile_builder_add(m->builder, &coarse);
}

static uint32_t *merge_labels(struct merger *m)
{
	uint32_t *labels = xcalloc(m->from->n_labels + 1, sizeof(*labels));

	for (size_t i = 1; i < m->from->n_labels && m->keep & KEEP_LABELS; i++)
		labels[i] = profile_builder_labels(m->builder, m->from->labels[i].of,
						   m->from->labels[i].n);
	return labels;
}

/* --- slices --- */

/* A slice of one of the profiles. */
struct dated_slice {
	uint64_t begin_ns, end_ns; /* since the begin of the result */
	size_t from;               /* number of the profile */
	size_t number;             /* in it */
};

static int compare_dates(const void *left, const void *right)
{
	const struct dated_slice *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/*
 * Give the slices of all profiles their numbers. Returns them profile by profile; the caller frees
 * them.
 */
static uint32_t *merge_slices(struct merger *m, const struct profile *const *from, size_t n)
{
	cleanup_free struct dated_slice *dates = NULL;
	size_t n_dates = 0, capacity = 0, first = 0;
	cleanup_free size_t *firsts = xcalloc(n + 1, sizeof(*firsts));

	for (size_t k = 0; k < n; k++) {
		const uint64_t begin_ns = from[k]->about.begin_ns;
		const uint64_t delay = begin_ns > m->begin_ns ? begin_ns - m->begin_ns : 0;

		firsts[k] = first;
		first += from[k]->n_slices;
		for (size_t i = 0; i < from[k]->n_slices; i++)
			array_push(
				dates, n_dates, capacity,
				((struct dated_slice){ from[k]->slices[i].begin_ns + delay,
						       from[k]->slices[i].end_ns + delay, k, i }));
	}
	if (n_dates)
		qsort(dates, n_dates, sizeof(*dates), compare_dates);

	uint32_t *numbers = xcalloc(n_dates + 1, sizeof(*numbers));

	for (size_t i = 0; i < n_dates; i++)
		numbers[firsts[dates[i].from] + dates[i].number] =
			profile_builder_slice(m->builder, dates[i].begin_ns, dates[i].end_ns);
	return numbers;
}

/* --- one profile after the other --- */

static void lose_values(struct profile *to, const struct merger *m, const struct profile *from)
{
	for (size_t i = 0; i < from->n_values; i++)
		if (place_of_value(m, from, i) == m->n_values)
			profile_add_loss(to, "a value beyond those that a profile has room for",
					 from->n_stacks);
}

/* @slices: new numbers of its slices, or NULL. */
static void merge_profile(struct merger *m, const uint32_t *slices)
{
	const struct profile *from = m->from;
	size_t part = 0;

	for (size_t i = 0; i < from->n_values; i++)
		m->places[i] = place_of_value(m, from, i);
	m->frames = coarse_add(&m->coarse, &from->frames);
	m->labels = merge_labels(m);
	for (size_t i = 0; i < from->n_stacks; i++) {
		const uint32_t number = merge_stack(m, &from->stacks[i]);

		for (; slices && part < from->n_parts && from->parts[part].stack == i; part++)
			profile_builder_part(m->builder, number, slices[from->parts[part].slice],
					     from->parts[part].count);
	}
	free(m->frames);
	free(m->labels);
}

static void merge_loss(struct profile *to, const char *reason, uint64_t n)
{
	size_t k = 0;

	while (k < to->n_losses && strcmp(to->losses[k].reason, reason) != 0)
		k++;
	if (k == to->n_losses)
		profile_add_loss(to, reason, n);
	else if (__builtin_add_overflow(to->losses[k].n, n, &to->losses[k].n))
		to->losses[k].n = UINT64_MAX;
}

/* Losses before a change are reasons of their own. */
static void merge_losses(struct profile *to, const struct profile *from, bool is_before)
{
	cleanup_strbuf struct strbuf reason = {};

	for (size_t i = 0; i < from->n_losses; i++) {
		strbuf_clear(&reason);
		strbuf_puts(&reason, is_before ? "before the change: " : "");
		strbuf_puts(&reason, from->losses[i].reason);
		merge_loss(to, reason.text, from->losses[i].n);
	}
}

/* --- profile_about --- */

/* A text of profile_about, and the separator between texts that differ. */
static const struct {
	size_t at;
	const char *between;
} about_texts[] = {
	{ offsetof(struct profile_about, program), ", " },
	{ offsetof(struct profile_about, command_line), "; " },
	{ offsetof(struct profile_about, host), ", " },
	{ offsetof(struct profile_about, kernel), ", " },
};

static const char *text_about_run(const struct profile_about *about, size_t at)
{
	return *(const char *const *)((const char *)about + at);
}

static void set_about_text(struct profile_about *about, size_t at, const char *text)
{
	*(const char **)((char *)about + at) = text;
}

/* Has one of the profiles before number @k the same text? */
static bool is_about_repeated(const struct profile_about *const *from, size_t k, size_t at)
{
	for (size_t i = 0; i < k; i++)
		if (text_is_same(text_about_run(from[i], at), text_about_run(from[k], at)))
			return true;
	return false;
}

#define MOST_JOINED 8

static const char *join_texts(struct strtab *strings, const struct profile_about *const *from,
			      size_t n, size_t row)
{
	cleanup_strbuf struct strbuf joined = {};
	size_t n_joined = 0;

	for (size_t k = 0; k < n && n_joined <= MOST_JOINED; k++) {
		const char *text = text_about_run(from[k], about_texts[row].at);

		if (!text || is_about_repeated(from, k, about_texts[row].at))
			continue;
		if (n_joined++)
			strbuf_puts(&joined, about_texts[row].between);
		strbuf_puts(&joined, n_joined > MOST_JOINED ? "..." : text);
	}
	return n_joined ? strtab_add_n(strings, joined.text ? joined.text : "", joined.n) : NULL;
}

static uint64_t earliest_begin(const struct profile *const *from, size_t n)
{
	uint64_t begin_ns = 0;

	for (size_t k = 0; k < n; k++) {
		const uint64_t of_one = from[k]->about.begin_ns;

		if (of_one && (!begin_ns || of_one < begin_ns))
			begin_ns = of_one;
	}
	return begin_ns;
}

/* The mean of costs that were measured, by hits. */
static double mean_cost(const struct profile *const *from, size_t n)
{
	double sum = 0, weight = 0;

	for (size_t k = 0; k < n; k++) {
		const double hits = from[k]->total > 0 ? (double)from[k]->total : 1;

		if (from[k]->about.cost_ns > 0) {
			sum += from[k]->about.cost_ns * hits;
			weight += hits;
		}
	}
	return weight > 0 ? sum / weight : 0;
}

static bool has_period_type(const struct profile *p)
{
	return p->about.period_type.name || p->about.period_type.unit;
}

/*
 * The longest period, as "go tool pprof" has it. It refuses to merge profiles with periods of
 * different types. A sum of these has no period.
 */
static void merge_periods(struct profile *to, const struct profile *const *from, size_t n)
{
	struct profile_value *type = &to->about.period_type;

	for (size_t k = 0; k < n; k++) {
		const struct profile_value *other = &from[k]->about.period_type;

		if (has_period_type(to) && has_period_type(from[k]) &&
		    !(text_is_same(type->name, other->name) &&
		      text_is_same(type->unit, other->unit))) {
			*type = (struct profile_value){};
			to->about.period = 0;
			return;
		}
		if (has_period_type(from[k]))
			*type = *other;
		if (from[k]->about.period > to->about.period)
			to->about.period = from[k]->about.period;
	}
	type->name = strtab_add_or_null(to->strings, type->name);
	type->unit = strtab_add_or_null(to->strings, type->unit);
}

/* What was run, when and how long. */
static void merge_runs(struct profile_about *to, struct strtab *strings,
		       const struct profile_about *const *from, size_t n)
{
	for (size_t row = 0; row < ARRAY_SIZE(about_texts); row++)
		set_about_text(to, about_texts[row].at, join_texts(strings, from, n, row));
	for (size_t k = 0; k < n; k++) {
		const uint64_t begin_ns = from[k]->begin_ns;

		to->duration_ns += from[k]->duration_ns;
		if (begin_ns && (!to->begin_ns || begin_ns < to->begin_ns))
			to->begin_ns = begin_ns;
	}
}

static void merge_about(struct profile *to, const struct profile_sides *sides)
{
	const size_t n_after = sides->n_after ? sides->n_after : sides->n;
	cleanup_free const struct profile_about **runs = xcalloc(sides->n, sizeof(*runs));

	merge_periods(to, sides->of, n_after);
	to->about.cost_ns = mean_cost(sides->of, n_after);
	for (size_t k = 0; k < sides->n; k++)
		runs[k] = &sides->of[k]->about;
	merge_runs(&to->about, to->strings, runs, n_after);
	if (n_after < sides->n) {
		merge_runs(&to->about_before, to->strings, runs + n_after, sides->n - n_after);
		return;
	}
	for (size_t k = 0; k < sides->n; k++) {
		runs[k] = &sides->of[k]->about_before;
		to->is_normalized = to->is_normalized || sides->of[k]->is_normalized;
	}
	merge_runs(&to->about_before, to->strings, runs, sides->n);
}

static void merge_sums(struct profile *to, const struct profile *from, bool is_before)
{
	const int64_t hidden = is_before ? 0 : from->hidden;
	const int64_t hidden_before = is_before ? from->hidden : from->hidden_before;

	add_to(&to->hidden, hidden);
	add_to(&to->total, hidden);
	add_to(&to->hidden_before, hidden_before);
	add_to(&to->total_before, hidden_before);
	to->n_hidden += from->n_hidden;
	add_to(&to->hidden_hits, from->hidden_hits);
	to->is_difference = to->is_difference || is_before || from->is_difference;
	merge_losses(to, from, is_before);
}

static void name_values(struct profile *to, const struct merger *m)
{
	for (size_t i = 0; i < m->n_values; i++) {
		const char *name = m->values[i].name, *unit = m->values[i].unit;

		to->values[i].name = strtab_add_or_null(to->strings, name);
		to->values[i].unit = strtab_add_or_null(to->strings, unit);
	}
}

/* Everything but the stacks. */
static void finish_merge(struct profile *to, const struct merger *m,
			 const struct profile_sides *sides)
{
	name_values(to, m);
	merge_about(to, sides);
	for (size_t k = 0; k < sides->n; k++) {
		merge_sums(to, sides->of[k], k >= sides->n_after);
		lose_values(to, m, sides->of[k]);
	}
}

struct profile *profile_merge_sides(const struct profile_sides *sides, unsigned keep)
{
	struct merger m = { .keep = keep, .begin_ns = earliest_begin(sides->of, sides->n) };
	cleanup_free uint32_t *slices = NULL;
	size_t first_slice = 0;

	coarse_init(&m.coarse, keep);
	for (size_t k = 0; k < sides->n; k++)
		collect_values(&m, sides->of[k]);
	if (m.n_values == 0)
		m.values[m.n_values++] = (struct profile_value){ "hits", "count" };
	m.builder = profile_builder_new(m.n_values);
	if (keep & KEEP_SLICES)
		slices = merge_slices(&m, sides->of, sides->n);
	for (size_t k = 0; k < sides->n; k++) {
		m.from = sides->of[k];
		m.is_before = k >= sides->n_after;
		merge_profile(&m, slices ? slices + first_slice : NULL);
		first_slice += m.from->n_slices;
	}

	struct profile *merged = profile_builder_finish(m.builder, &m.coarse.table);

	profile_builder_free(m.builder);
	finish_merge(merged, &m, sides);
	coarse_fini(&m.coarse);
	free(m.row);
	return merged;
}

struct profile *profile_merge(const struct profile *const *from, size_t n, unsigned keep)
{
	const struct profile_sides all = { .of = from, .n = n, .n_after = n };

	return profile_merge_sides(&all, keep);
}
