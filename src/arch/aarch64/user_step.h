/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/aarch64/user_step.h - from a frame of aarch64 to its caller. For arch/user_step.h only.
 *
 * There are no unwind tables for aarch64 yet (ARCH_HAS_TABLES), so nothing walks by rules: the
 * steps here end a walk.
 */
#pragma once

#include "arch/user_step.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* x29 points to the caller's x29 and the return address, where the frame ends for a walk. */
#define UNWIND_BY_FRAMES(kind) \
	((struct unwind_rule){ \
		.offset = 16, .fp = -2, .third = -1, .how = UNWIND_HOW(kind, UNWIND_X29) })

#define UNWIND_AT_ENTRY ((struct unwind_rule){ .how = UNWIND_HOW(UNWIND_PC_IN, UNWIND_X30) })

static __always_inline enum unwind_end unwind_signal(struct unwind_regs *regs, unwind_read *read,
						     void *from)
{
	return UNWIND_END_UNFIT;
}

static __always_inline enum unwind_end
unwind_call(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	return UNWIND_END_UNFIT;
}

static __always_inline _Bool unwind_quickly(struct unwind_regs *regs, struct unwind_rule rule,
					    const struct unwind_window *w)
{
	return 0;
}

/* Walks by tables alone ask, of which there are none yet: no frame's set-up is found. */

static __always_inline _Bool code_may_be_call(__u64 bytes)
{
	const __u32 last = bytes >> 32;

	/* bl; blr, blraa and its like */
	return last >> 26 == 0x25 || (last & 0xfefff000) == 0xd63f0000;
}

static __always_inline __u64 made_setups(__u64 word, __u64 next)
{
	return 0;
}

static __always_inline __u32 made_length(__u64 bytes)
{
	return 4;
}

static __always_inline struct unwind_rule made_rule(__u64 addr, __u64 before, __u64 at,
						    __u64 behind)
{
	return (struct unwind_rule){};
}

#pragma GCC diagnostic pop
