/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/profile.h - the result of a run as a value: stacks with their values, their frames, and
 * the losses. It owns all that it has, and needs no live process, descriptor or kernel. A builder
 * makes it from stacks: equal ones become one, with common values. Renderers (report/render.h) turn
 * it into bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/text.h"
#include "profile/frame.h"

/*
 * A number that each stack has. The first one of a profile is the one that reports show, sort by
 * and compare: the number of hits, or a sum of values, behind which the hits come.
 */
struct profile_value {
	const char *name; /* "hits" */
	const char *unit; /* "count", "nanoseconds", "bytes" */
};

static inline bool profile_value_is_same(const struct profile_value *a,
					 const struct profile_value *b)
{
	return text_is_same(a->name, b->name) && text_is_same(a->unit, b->unit);
}

#define PROFILE_MOST_VALUES 8

/*
 * A stack. Frame numbers are innermost first, kernel frames before user frames. In a difference
 * (profile.is_difference), @count and @more are after the change, and those with _before before it.
 */
struct profile_stack {
	int64_t count;        /* the value of number 0 */
	const int64_t *more;  /* values from number 1 on; NULL if the profile has one value */
	int64_t count_before; /* differences only */
	const int64_t *more_before;
	const uint32_t *frames; /* @n_kernel, then @n_user of them */
	uint32_t n_kernel;
	uint32_t n_user;
	uint32_t pid;     /* 0 unless per process; 0 with @comm: per name of processes */
	const char *comm; /* NULL unless per process, or not known */
};

/* The losses of one reason. */
struct profile_loss {
	const char *reason; /* "no room for a new stack" */
	uint64_t n;
};

/* A part of the run's time. Slices follow each other. */
struct profile_slice {
	uint64_t begin_ns; /* since profile_about.begin_ns */
	uint64_t end_ns;
};

/* The hits of a stack in one slice. A stack's parts add up to its count. */
struct profile_part {
	uint32_t stack; /* number in stacks */
	uint32_t slice;
	int64_t count;
};

/* How and when the profile was made. Strings may be NULL: not known. */
struct profile_about {
	const char *program;      /* "stackcount 0.9" */
	const char *command_line; /* arguments joined by blanks, quoted as a shell needs it */
	const char *host;
	const char *kernel;   /* release, "6.18.1" */
	uint64_t begin_ns;    /* since 1970; 0: not known */
	uint64_t duration_ns; /* of counting; 0: not known */
	double cost_ns;       /* mean price of a hit in the traced program; 0: not measured */
	struct profile_value period_type; /* the sampled quantity; NULL names: not known */
	int64_t period; /* how many of it there are for each sample; 0: not known, or varies */
};

struct profile {
	struct profile_about about;
	struct profile_about about_before; /* of a difference: without cost and period */
	struct profile_value values[PROFILE_MOST_VALUES];
	size_t n_values;           /* at least 1 */
	struct frame_table frames; /* each is in a stack */
	struct profile_stack *stacks;
	size_t n_stacks;
	struct profile_loss *losses; /* in a fixed order, with n above 0 */
	size_t n_losses;
	struct profile_slice *slices; /* in the order of time; none unless recorded */
	size_t n_slices;
	struct profile_part *parts; /* by stack, then by slice */
	size_t n_parts;
	int64_t total;       /* sum of all counts, those of hidden stacks too */
	int64_t hidden;      /* of these, the counts of stacks that profile_choose() has removed */
	size_t n_hidden;     /* number of these stacks */
	int64_t hidden_hits; /* of these stacks, where profile_hits_value() is not 0 */
	bool is_difference;  /* stacks have values before and after a change */
	bool is_normalized;  /* the values before are scaled so that the sums are equal */
	int64_t total_before, hidden_before; /* differences only: the same before the change */

	/* Memory of the members above. */
	uint32_t *rows; /* of frame numbers, stack by stack */
	size_t n_rows;
	int64_t *numbers; /* of the members more and more_before */
	struct strtab *strings;
};

void profile_free(struct profile *p);
void profile_freep(struct profile **p);

/*
 * Make value @i the first one: the one that stacks are sorted and shown by. Slices have no parts
 * then, and hidden stacks no count, because these are of the value that was the first.
 */
void profile_put_value_first(struct profile *p, size_t i);

/*
 * Sort stacks, least frequent first, equal counts in their former order. Remove those with a count
 * below @min and, if @top is not 0, all but the @top most frequent. Of a difference, the order is
 * by the size of the change, and @min bounds the larger one of the two counts.
 */
void profile_choose(struct profile *p, uint64_t min, size_t top);

static inline uint64_t count_magnitude(int64_t n)
{
	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

/* The number of the value that is the hits. 0: the first one is, or none is. */
size_t profile_hits_value(const struct profile *p);

/* All hits, those of hidden stacks too. 0: a difference, or no value is the hits. */
uint64_t profile_n_hits(const struct profile *p);

/* Add a loss of @n hits. Nothing happens if @n is 0. Copies @reason. */
void profile_add_loss(struct profile *p, const char *reason, uint64_t n);

/* --- making a profile --- */

struct profile_builder;

/* @n_values: at most PROFILE_MOST_VALUES. profile.values[0] becomes hits; the caller sets others.
 */
struct profile_builder *profile_builder_new(size_t n_values);
void profile_builder_freep(struct profile_builder **b);

/*
 * Add @stack's values to the stack with equal frames, pid and comm, or append a new one.
 * With a pid, a comm that is NULL equals any. Frame numbers are those of the table that
 * profile_builder_finish() gets. Copies frames and values; keeps @stack->comm until then. Returns
 * the number of the stack in the profile.
 */
uint32_t profile_builder_add(struct profile_builder *b, const struct profile_stack *stack);

/* The profile so far, lent until profile_builder_finish(). The caller may set what is about all of
 * it. */
struct profile *profile_builder_profile(const struct profile_builder *b);

/* Append a slice of time; returns its number. */
uint32_t profile_builder_slice(struct profile_builder *b, uint64_t begin_ns, uint64_t end_ns);

/* Sort @n parts by stack and slice, and add up those with equal ones. Returns how many are left. */
size_t profile_merge_parts(struct profile_part *parts, size_t n);

/* Of the hits of @stack, @count came in @slice. */
void profile_builder_part(struct profile_builder *b, uint32_t stack, uint32_t slice, int64_t count);

/*
 * The profile of all stacks, in the order in which they were added. It has copies of the frames in
 * these stacks, with their images and strings. The caller frees it. @b can only be freed then.
 */
struct profile *profile_builder_finish(struct profile_builder *b, const struct frame_table *frames);
