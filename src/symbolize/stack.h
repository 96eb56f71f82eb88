/* symbolize/stack.h - from a stack's words, as the kernel kept them, to numbers of named frames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "symbolize/symbolize.h"

/* A stack as the kernel kept it: @n @words (bpf/abi.h), innermost first. Lent. */
struct raw_stack {
	const uint64_t *words;
	size_t n;
	uint32_t flags; /* KEY_* say what its first address is */
	uint32_t tgid;  /* a user stack's process */
	uint64_t time;  /* when it was taken, ns of CLOCK_MONOTONIC */
	uint64_t last;  /* likewise, if more than once: the last time, or later */
};

/* Of a user stack; inlined functions are frames too. */
#define USER_FRAMES (4 * STACK_WORDS)

/*
 * Name the frames of @stack. Returns how many @frames that makes: without the tracing's own,
 * and, unless @max_depth is 0, at most so many, and behind them a mark where more were there.
 */
uint32_t name_kernel_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			   uint32_t frames[STACK_WORDS]);
uint32_t name_user_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			 uint32_t frames[USER_FRAMES]);

/* The same, behind symbolizer_defer(). *@is_whole: else some frames were put off, and are missing.
 */
uint32_t name_known_user_stack(struct symbolizer *s, const struct raw_stack *stack,
			       uint64_t max_depth, uint32_t frames[USER_FRAMES], bool *is_whole);
