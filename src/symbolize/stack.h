/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/stack.h - from a stack's words, as BPF stored them, to numbers of named frames. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "bpf/abi.h"
#include "symbolize/symbolize.h"

/* A stack as BPF stored it: @n @words (bpf/abi.h), innermost first. The caller lends them. */
struct raw_stack {
	const uint64_t *words;
	size_t n;
	uint32_t flags; /* KEY_*: the kind of its first address */
	uint32_t tgid;  /* a user stack's process */
	uint64_t time;  /* of the first hit, ns of CLOCK_MONOTONIC */
};

/* The reason that cut the stack: a mark's STACK_MARK_CUT_BITS, 0 for a stack that is whole. */
uint64_t stack_cut(const struct raw_stack *stack);

#define CUTS (STACK_MARK_CUT_BITS + 1)

/*
 * @cuts are counts of hits by stack_cut(). If more than 1 % of the hits have a stack that is cut,
 * write how many, the most frequent reason, and what to do. @is_bounded: the user has bounded the
 * depth, so stacks that are cut there do not count.
 */
void stack_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to);

/* Bound of a user stack's frames, since inlined functions are frames, too. */
#define USER_FRAMES (4 * STACK_WORDS)

/*
 * Name the frames of @stack, without machinery. If @max_depth is not 0, it bounds their number, and
 * a mark stands behind them if the stack had more. Returns the number of @frames, with the mark.
 */
uint32_t name_kernel_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			   uint32_t frames[STACK_WORDS]);
uint32_t name_user_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			 uint32_t frames[USER_FRAMES]);

/* The same after symbolizer_defer(). If *@is_whole is false, some names were put off, and their
 * frames are missing. want_user_stack() only puts them off. */
uint32_t name_known_user_stack(struct symbolizer *s, const struct raw_stack *stack,
			       uint64_t max_depth, uint32_t frames[USER_FRAMES], bool *is_whole);
void want_user_stack(struct symbolizer *s, const struct raw_stack *stack);
