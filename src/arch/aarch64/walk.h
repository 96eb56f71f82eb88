/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/aarch64/walk.h - from a frame of aarch64 to its caller. For arch/walk.h only.
 *
 * There are no unwind tables for aarch64 yet (ARCH_HAS_TABLES), so nothing walks by rules: the
 * steps here end a walk.
 */
#pragma once

#include "arch/walk.h"

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

#pragma GCC diagnostic pop
