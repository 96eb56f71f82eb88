/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/aarch64/code.h - instructions of aarch64 that tell of a frame. For arch/code.h only.
 *
 * Walks by tables alone ask, of which there are none yet (ARCH_HAS_TABLES): no frame's
 * set-up is found.
 */
#pragma once

#include "arch/code.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define CODE_USER_BITS 48 /* 52 for those that ask mmap() for more */

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
