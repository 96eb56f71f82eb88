// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/row_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "profile/profile.h"
#include "symbolize/stack.h"

/* When this many names are unknown, ask for all of them. */
#define NAMES_AT_ONCE 65536

/* Read the clock once for many rows: a row takes microseconds. */
#define ROWS_BETWEEN_SERVING 16

static void serve_sometimes(const struct row_profile *t, size_t row)
{
	if (row % ROWS_BETWEEN_SERVING == 0)
		t->serve(t->context);
}

static struct raw_stack read_user_stack(const struct row_profile *t, const struct store_row *row,
					uint64_t words[STACK_WORDS])
{
	return (struct raw_stack){ .words = words,
				   .n = store_stack(t->store, row->user_stack, words),
				   .flags = row->flags,
				   .tgid = row->tgid,
				   .time = row->first };
}

/*
 * Name the frames of @row, and add its stack to the profile, with number *@ret. False: it is not
 * added, because a name is put off.
 */
static bool name_row(const struct row_profile *t, const struct store_row *row,
		     struct profile_builder *builder, uint32_t *ret)
{
	uint32_t frames[STACK_WORDS + USER_FRAMES], user[USER_FRAMES];
	const int64_t hits = (int64_t)row->count;
	struct profile_stack stack = { .count = t->sum ? row->sum : hits,
				       .more = t->sum ? &hits : NULL,
				       .frames = frames };
	uint64_t words[STACK_WORDS], cut, user_cut;
	struct raw_stack raw = read_user_stack(t, row, words);
	bool is_whole;

	stack.n_user = name_known_user_stack(t->symbolizer, &raw, t->max_depth, user, &is_whole);
	if (!is_whole)
		return false;
	user_cut = stack_cut(&raw);
	raw.n = store_stack(t->store, row->kernel_stack, words);
	stack.n_kernel = name_kernel_stack(t->symbolizer, &raw, t->max_depth, frames);
	cut = stack_cut(&raw);
	t->cuts[cut ? cut : user_cut] += row->count;
	memcpy(frames + stack.n_kernel, user, stack.n_user * sizeof(*user));
	if (t->has_comms)
		stack.comm = symbolizer_comm(t->symbolizer,
					     process_key(row->tgid, row->flags >> KEY_LIFE_SHIFT),
					     row->first);
	if (t->has_pids)
		stack.pid = row->tgid;
	*ret = profile_builder_add(builder, &stack);
	return true;
}

/*
 * Name rows in their order. At a row with an unknown name, collect the unknown names of all further
 * rows, and ask for them at once. If a row has none to ask for, its names come one by one. @stacks:
 * where the stacks' numbers go.
 */
static void name_all_rows(const struct row_profile *t, const struct store_row *rows, size_t n,
			  struct profile_builder *builder, uint32_t *stacks)
{
	size_t n_named = 0, deferred_at = SIZE_MAX;

	symbolizer_defer(t->symbolizer);
	do {
		while (n_named < n && name_row(t, &rows[n_named], builder, &stacks[n_named]))
			serve_sometimes(t, n_named++);
		/* Once for each row, because this may forget names that the row has so far. */
		if (n_named != deferred_at)
			symbolizer_defer(t->symbolizer);
		deferred_at = n_named;
		for (size_t i = n_named;
		     i < n && symbolizer_n_put_off(t->symbolizer) < NAMES_AT_ONCE; i++) {
			uint64_t words[STACK_WORDS];
			const struct raw_stack raw = read_user_stack(t, &rows[i], words);

			want_user_stack(t->symbolizer, &raw);
			serve_sometimes(t, i);
		}
		(void)symbolizer_fetch(t->symbolizer);
	} while (n_named < n);
}

/* Name the values of @p, if the first one is @sum. Returns @p. */
static struct profile *with_sum(struct profile *p, const struct profile_value *sum)
{
	if (!sum)
		return p;
	p->strings = p->strings ? p->strings : strtab_new();
	p->values[1] = p->values[0];
	p->values[0] = (struct profile_value){ strtab_add_or_null(p->strings, sum->name),
					       strtab_add_or_null(p->strings, sum->unit) };
	return p;
}

struct profile *row_profile_make(const struct row_profile *t, const struct store_row *rows,
				 size_t n, const struct slices *slices)
{
	cleanup(profile_builder_freep) struct profile_builder *builder =
		profile_builder_new(t->sum ? 2 : 1);
	cleanup_free uint32_t *stacks = xcalloc(n + 1, sizeof(*stacks));

	name_all_rows(t, rows, n, builder, stacks);
	if (slices)
		slices_put(slices, builder, stacks, t->sum != NULL);
	return with_sum(profile_builder_finish(builder, symbolizer_frames(t->symbolizer)), t->sum);
}

void row_profile_add_losses(struct profile *p, const struct named_losses *losses,
			    const uint64_t *before)
{
	for (int i = 0; i < LOSS_N; i++)
		profile_add_loss(p, losses->of[i].reason,
				 losses->of[i].n + (before ? before[i] : 0));
}

void row_profile_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to)
{
	uint64_t total = 0, cut = 0;
	size_t most = 0;

	for (size_t i = 0; i < CUTS; i++) {
		total += cuts[i];
		if (!i || (is_bounded && strcmp(stack_mark_text(i), "depth") == 0))
			continue;
		cut += cuts[i];
		most = cuts[i] > (most ? cuts[most] : 0) ? i : most;
	}
	if (cut > total / 100)
		strbuf_printf(to, "%.1f%% of the hits have a cut stack, most often [cut: %s] (%s)",
			      100 * (double)cut / (double)total, stack_mark_text(most),
			      stack_mark_advice(most));
}
