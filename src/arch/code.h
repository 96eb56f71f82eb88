/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/code.h - what the bytes of code tell a walk where no row does. Pure inline functions for
 * both sides, like those of arch/walk.h. Most look at the 8 bytes of a word at once, without a
 * branch, because the verifier would follow each.
 *
 * An architecture provides, in its own code.h, for checked steps (bpf/frame.h):
 *
 *	code_may_be_call()     may the instruction before a return address be a call?
 *	CODE_USER_BITS         user addresses have no bits above these
 *
 * For code of JIT compilers, where the set-up of a function's frame tells whether it keeps a frame
 * pointer:
 *
 *	made_setups()          where in a word does an instruction of a set-up begin?
 *	made_length()          that instruction's length
 *	made_rule()            the rule that it gives
 */
#pragma once

#include "arch/walk.h"

#define CODE_EACH(byte) ((byte)*0x0101010101010101ULL)

/* A word with 0x80 in each byte where @word has 0, and 0 elsewhere. */
static __always_inline __u64 code_zeros(__u64 word)
{
	return ~(((word & CODE_EACH(0x7f)) + CODE_EACH(0x7f)) | word | CODE_EACH(0x7f));
}

static __always_inline __u64 code_are(__u64 word, __u64 byte)
{
	return code_zeros(word ^ CODE_EACH(byte));
}

/* The word that begins @n bytes behind @word. @next follows @word. */
static __always_inline __u64 code_behind(__u64 word, __u64 next, __u32 n)
{
	return word >> n * 8 | next << (64 - n * 8);
}

/* The number of the last byte that @found marks. @found is a result like that of code_zeros(). */
static __always_inline __u32 code_last(__u64 found)
{
	__u32 at = 0;

	for (__u32 i = 1; i < 8; i++)
		at = found >> i * 8 ? i : at;
	return at;
}

#include ARCH_OWN(code.h)
