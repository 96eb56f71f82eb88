/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/x86_64/code.h - instructions of x86-64 that tell of a frame. For arch/code.h only. */
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

#include "arch/x86_64/made.h"
