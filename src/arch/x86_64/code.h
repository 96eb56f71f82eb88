/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/code.h - instructions of x86-64 that tell of a frame. For arch/code.h only.
 *
 * A function with a frame pointer begins with  push %rbp;  mov %rsp, %rbp
 */
#pragma once

#include "arch/code.h"

#define CODE_USER_BITS 47

/*
 * 1 if the bytes at @at of @bytes are "call *operand", else 0. No branch, because the verifier
 * would follow each.
 */
static __always_inline __u64 code_is_indirect(__u64 bytes, __u32 at)
{
	const __u64 rest = (bytes >> at * 8 ^ 0x10ff) & 0x38ff;

	return (rest - 1) >> 63;
}

/*
 * May the instruction that ends with the last of the 8 @bytes be a call? Tests all of x86's forms.
 */
static __always_inline _Bool code_may_be_call(__u64 bytes)
{
	__u64 is = (((bytes >> 24 & 0xff) ^ 0xe8) - 1) >> 63;

	/* call *operand of 2, 3, 4, 6 or 7 bytes */
	is |= code_is_indirect(bytes, 6) | code_is_indirect(bytes, 5) | code_is_indirect(bytes, 4);
	is |= code_is_indirect(bytes, 2) | code_is_indirect(bytes, 1);
	return is;
}

#define CODE_ENDBR 0xfa1e0ff3U
#define CODE_FRAME 0xe5894855U /* push %rbp;  mov %rsp, %rbp */

/*
 * In the first and last instructions of a function, rbp may belong to the caller. Returns the rule
 * that these instructions give, or UNWIND_NO_ROW. @bytes begin at pc - 1.
 */
static __always_inline struct unwind_rule code_edge_rule(__u64 bytes)
{
	const __u64 at = bytes >> 8;
	const struct unwind_rule is_pushed = { .offset = 16,
					       .fp = -2,
					       .how = UNWIND_HOW(UNWIND_IS, UNWIND_RSP) };

	/* ret; rep ret; push %rbp; endbr64, push %rbp */
	if ((at & 0xff) == 0xc3 || (at & 0xffff) == 0xc3f3 || (__u32)at == CODE_FRAME ||
	    at == ((__u64)(CODE_FRAME & 0xffffff) << 32 | CODE_ENDBR))
		return UNWIND_AT_ENTRY;
	/* pop %rbp, ret; or mov %rsp, %rbp, which the push precedes */
	if ((at & 0xffff) == 0xc35d || (__u32)bytes == CODE_FRAME)
		return is_pushed;
	return (struct unwind_rule){};
}

/* The address of the return address, by a rule of kind UNWIND_IS. @base is the rule's register. */
static __always_inline __u64 code_return_at(__u64 base, struct unwind_rule rule)
{
	return base + (__u64)rule.offset - 8;
}

#include "arch/x86_64/made.h"
