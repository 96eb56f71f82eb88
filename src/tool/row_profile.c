// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/row_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/builder.h"
#include "symbolize/stack.h"

/* The rows and frames of one question for names, at most. */
#define ROWS_AT_ONCE 16384
#define FRAMES_AT_ONCE (1U << 18)
#define MOST_FRAMES (STACK_WORDS + (size_t)(USER_FRAMES))

/*
 * A row's frames, which begin at named_rows.frames[first]. Unless @is_whole, names were put off,
 * and their frames are missing.
 */
struct named_row {
	size_t first;
	uint32_t n_kernel, n_user;
	bool is_whole;
};

struct named_rows {
	const struct row_profile *of;
	struct profile_builder *builder;
	uint64_t now; /* ns of CLOCK_MONOTONIC: later than all rows */
	struct named_row rows[ROWS_AT_ONCE];
	uint32_t *frames;
	size_t n, capacity;
};

/*
 * Append the frames of @row. @is_put_off: put off names that are not known yet, and leave out their
 * frames.
 */
static struct named_row name_row(const struct store_row *row, struct named_rows *to,
				 bool is_put_off)
{
	const struct row_profile *t = to->of;
	const uint64_t max_depth = t->max_depth;
	uint64_t words[STACK_WORDS];
	struct raw_stack stack = { words, 0, row->flags, row->tgid, row->first, to->now };
	struct named_row ret = { .first = to->n, .is_whole = true };
	uint32_t *frames;

	while (to->capacity < to->n + MOST_FRAMES)
		to->frames = array_room(to->frames, to->capacity, &to->capacity, sizeof(*frames));
	frames = to->frames + to->n;
	stack.n = store_stack(t->store, row->kernel_stack, words);
	ret.n_kernel = name_kernel_stack(t->symbolizer, &stack, max_depth, frames);
	frames += ret.n_kernel;
	stack.n = store_stack(t->store, row->user_stack, words);
	ret.n_user = is_put_off ? name_known_user_stack(t->symbolizer, &stack, max_depth, frames,
							&ret.is_whole)
				: name_user_stack(t->symbolizer, &stack, max_depth, frames);
	to->n += ret.n_kernel + ret.n_user;
	return ret;
}

/* Returns the number of the row's stack. */
static uint32_t report_row(const struct store_row *row, const struct named_row *named,
			   const struct named_rows *of)
{
	const struct row_profile *t = of->of;
	struct profile_stack stack = { .count = (int64_t)row->count,
				       .frames = of->frames + named->first,
				       .n_kernel = named->n_kernel,
				       .n_user = named->n_user };

	if (t->has_comms)
		stack.comm = symbolizer_comm(t->symbolizer,
					     process_key(row->tgid, row->flags >> KEY_LIFE_SHIFT),
					     row->first);
	if (t->has_pids)
		stack.pid = row->tgid;
	return profile_builder_add(of->builder, &stack);
}

/* A row takes microseconds, so reading the clock for each row would cost a part of that. */
#define ROWS_BETWEEN_SERVING 16

static void serve_sometimes(const struct row_profile *t, size_t row)
{
	if (row % ROWS_BETWEEN_SERVING == 0)
		t->serve(t->context);
}

/*
 * Put off unknown names of many rows, and ask for all of them at once. Returns how many of the @n
 * @rows are done. @stacks: where their stacks' numbers go.
 */
static size_t name_some_rows(const struct store_row *rows, size_t n, struct named_rows *named,
			     uint32_t *stacks)
{
	const struct row_profile *t = named->of;
	size_t n_named = 0;

	named->n = 0;
	named->now = clock_ns(CLOCK_MONOTONIC);
	symbolizer_defer(t->symbolizer);
	for (; n_named < n && n_named < ROWS_AT_ONCE && named->n < FRAMES_AT_ONCE; n_named++) {
		named->rows[n_named] = name_row(&rows[n_named], named, true);
		serve_sometimes(t, n_named);
	}
	(void)symbolizer_fetch(t->symbolizer);
	for (size_t i = 0; i < n_named; i++) {
		if (!named->rows[i].is_whole)
			named->rows[i] = name_row(&rows[i], named, false);
		stacks[i] = report_row(&rows[i], &named->rows[i], named);
		serve_sometimes(t, i);
	}
	return n_named;
}

struct profile *row_profile_make(const struct row_profile *t, const struct store_row *rows,
				 size_t n, const struct slices *slices)
{
	cleanup(profile_builder_freep) struct profile_builder *builder = profile_builder_new(1);
	cleanup_free struct named_rows *named = xcalloc(1, sizeof(*named));
	cleanup_free uint32_t *stacks = xcalloc(n + 1, sizeof(*stacks));

	named->of = t;
	named->builder = builder;
	for (size_t i = 0; i < n;)
		i += name_some_rows(rows + i, n - i, named, stacks + i);
	free(named->frames);
	if (slices)
		slices_put(slices, builder, stacks);
	return profile_builder_finish(builder, symbolizer_frames(t->symbolizer));
}

void row_profile_add_losses(struct profile *p, const struct named_losses *losses,
			    const uint64_t *before)
{
	for (int i = 0; i < LOSS_N; i++)
		profile_add_loss(p, losses->of[i].reason,
				 losses->of[i].n + (before ? before[i] : 0));
}

struct profile *row_profile_sums(uint64_t hits, size_t n_stacks, const uint64_t losses[LOSS_N])
{
	cleanup(profile_builder_freep) struct profile_builder *builder = profile_builder_new(1);
	const struct frame_table none = {};
	struct profile *p = profile_builder_finish(builder, &none);

	p->total = p->hidden = (int64_t)hits;
	p->n_hidden = n_stacks;
	for (int i = 0; i < LOSS_N; i++)
		profile_add_loss(p, loss_text((enum loss)i), losses[i]);
	return p;
}
