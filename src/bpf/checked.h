/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/checked.h - do the instructions prove a step by frame pointer? For code without rows. Pure
 * inline functions for both sides, like those of bpf/walk.h.
 *
 * In code without rows, the frame pointer may be the function's own. If the function keeps none, it
 * may belong to one further out, and the step would leave out a caller. Or the register holds
 * something else. A step is proven if
 *
 *	the code before the pc contains        the set-up of a frame
 *	and from there up to the pc            no byte could end a function
 *	the return address stands behind       a call; if it is direct, its target is just before
 *	                                       that set-up
 *	and from the stack pointer up to       no word could be another return address
 *	the frame pointer
 *
 * The last condition covers a function that ends with a call that never returns. arch/code.h
 * recognizes the instructions.
 */
#pragma once

#include "arch/code.h"
#include "bpf/walk.h"

#define CODE_WORDS 64U /* of code before the pc that are examined */
#define CODE_BYTES (CODE_WORDS * 8U)
#define PROVEN_FRAME_WORDS 128 /* the largest frame that can be proven */
#define MOST_BEFORE_FRAME 64U  /* bytes from a function's start to the end of its set-up's word */

/* The number of the last byte that @found marks. @found is a result like that of code_zeros(). */
static __always_inline __u32 code_last(__u64 found)
{
	__u32 at = 0;

	for (__u32 i = 1; i < 8; i++)
		at = found >> i * 8 ? i : at;
	return at;
}

/*
 * Does the function that begins at byte @at set up its frame in word @i? Compilers may put other
 * instructions before the set-up.
 */
static __always_inline _Bool code_is_frame_of(__u64 at, __u32 i)
{
	return i * 8ULL + 8 - at <= MOST_BEFORE_FRAME;
}

/* Could @word, found on the stack that goes up from @sp, be a return address at all? */
static __always_inline _Bool code_is_address(__u64 word, __u64 sp)
{
	return word >= 4096 && word >> CODE_USER_BITS == 0 &&
	       word - sp >= UNWIND_LIKELY_STACK_BYTES;
}
