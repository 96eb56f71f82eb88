// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/row_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "profile/builder.h"
#include "symbolize/stack.h"

/* When this many names are unknown, ask for all of them. */
#define NAMES_AT_ONCE 65536

struct named_rows {
	const struct row_profile *of;
	struct profile_builder *builder;
};

static struct raw_stack user_stack_of(const struct store_row *row)
{
	return (struct raw_stack){ .flags = row->flags, .tgid = row->tgid, .time = row->first };
}

/*
 * Collect unknown names of the row's user stack. Goes outwards to the first node that another row
 * has had, so each node is looked at once.
 */
static void want_names(const struct store_row *row, const struct named_rows *of)
{
	struct symbolizer *s = of->of->symbolizer;
	const struct tree *tree = store_tree(of->of->store);
	const struct raw_stack stack = user_stack_of(row);
	uint32_t node = row->user_stack;
	struct user_pc pc;
	uint64_t word;

	if (node != TREE_ROOT)
		pc = user_stack_begin(s, &stack);
	for (size_t i = 0; node != TREE_ROOT; i++) {
		const uint32_t caller = tree_caller(tree, node, &word);

		user_stack_at(&stack, i, word, node, &pc);
		if ((caller == TREE_ROOT && word < STACK_MARK_END) || !symbolizer_want(s, &pc))
			break;
		node = caller;
	}
}

/* Name the frames of @row, and add its stack to the profile. Returns the stack's number. */
static uint32_t name_row(const struct store_row *row, const struct named_rows *of)
{
	const struct row_profile *t = of->of;
	uint32_t frames[STACK_WORDS + USER_FRAMES], nodes[STACK_WORDS];
	const int64_t hits = (int64_t)row->count;
	struct profile_stack stack = { .count = t->sum ? row->sum : hits,
				       .more = t->sum ? &hits : NULL,
				       .frames = frames };
	struct raw_stack raw = user_stack_of(row);
	uint64_t words[STACK_WORDS], cut;
	bool is_whole;

	raw.words = words;
	raw.n = store_stack(t->store, row->kernel_stack, words);
	stack.n_kernel = name_kernel_stack(t->symbolizer, &raw, t->max_depth, frames);
	cut = stack_cut(&raw);
	raw.nodes = nodes;
	raw.n = tree_path(store_tree(t->store), row->user_stack, words, nodes, STACK_WORDS);
	cut = cut ? cut : stack_cut(&raw);
	t->cuts[cut] += row->count;
	stack.n_user = name_known_user_stack(t->symbolizer, &raw, t->max_depth,
					     frames + stack.n_kernel, &is_whole);
	if (!is_whole)
		stack.n_user =
			name_user_stack(t->symbolizer, &raw, t->max_depth, frames + stack.n_kernel);
	if (t->has_comms)
		stack.comm = symbolizer_comm(t->symbolizer,
					     process_key(row->tgid, row->flags >> KEY_LIFE_SHIFT),
					     row->first);
	if (t->has_pids)
		stack.pid = row->tgid;
	return profile_builder_add(of->builder, &stack);
}

/* Read the clock once for many rows: a row takes microseconds. */
#define ROWS_BETWEEN_SERVING 16

static void serve_sometimes(const struct row_profile *t, size_t row)
{
	if (row % ROWS_BETWEEN_SERVING == 0)
		t->serve(t->context);
}

/*
 * Ask for the unknown names of many rows at once, and name these rows. Returns how many of the @n
 * @rows are done. @stacks: where their stacks' numbers go.
 */
static size_t name_some_rows(const struct store_row *rows, size_t n, struct named_rows *named,
			     uint32_t *stacks)
{
	const struct row_profile *t = named->of;
	size_t n_named = 0;

	symbolizer_defer(t->symbolizer);
	for (; n_named < n && symbolizer_n_put_off(t->symbolizer) < NAMES_AT_ONCE; n_named++) {
		want_names(&rows[n_named], named);
		serve_sometimes(t, n_named);
	}
	(void)symbolizer_fetch(t->symbolizer);
	for (size_t i = 0; i < n_named; i++) {
		stacks[i] = name_row(&rows[i], named);
		serve_sometimes(t, i);
	}
	return n_named;
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
	struct named_rows named = { .of = t, .builder = builder };
	cleanup_free uint32_t *stacks = xcalloc(n + 1, sizeof(*stacks));

	symbolizer_begin_tree(t->symbolizer, store_tree(t->store)->n);
	for (size_t i = 0; i < n;)
		i += name_some_rows(rows + i, n - i, &named, stacks + i);
	symbolizer_end_tree(t->symbolizer);
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
