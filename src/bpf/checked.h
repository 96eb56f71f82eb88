/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/checked.h - do the instructions prove a step by frame pointer? For code without rows. Pure
 * inline functions for both sides, as those of bpf/walk.h.
 *
 * In code without rows rbp may be the function's own frame pointer. If the function keeps none, rbp
 * may belong to one further out, and the step would leave out a caller. Or rbp holds something
 * else. A step is proven if
 *
 *	the code before the pc has             push %rbp;  mov %rsp, %rbp
 *	and from there up to the pc            no byte could end a function
 *	the return address stands behind       a call; if it is  call T,  T is just before that
 *	and from rsp up to rbp                 no word could be another return address
 *
 * The last condition covers a function that ends with a call that never returns.
 */
#pragma once

#include "bpf/walk.h"

#define CODE_WORDS 64U /* of code before the pc */
#define CODE_BYTES (CODE_WORDS * 8U)
#define PROVEN_FRAME_WORDS 128 /* largest frame that can be proven */
#define MOST_BEFORE_FRAME 64U  /* bytes of a function */

/* 1 where the bytes at @at of @bytes are "call *operand". Without a branch: see code_may_be_call().
 */
static __always_inline __u64 code_is_indirect(__u64 bytes, __u32 at)
{
	const __u64 rest = (bytes >> at * 8 ^ 0x10ff) & 0x38ff;

	return (rest - 1) >> 63;
}

/*
 * May the instruction before the address that @bytes end at be a call? x86's forms of it. The
 * verifier would follow each branch.
 */
static __always_inline _Bool code_may_be_call(__u64 bytes)
{
	__u64 is = (((bytes >> 24 & 0xff) ^ 0xe8) - 1) >> 63;

	/* of 2, 3, 4, 6 or 7 bytes */
	is |= code_is_indirect(bytes, 6) | code_is_indirect(bytes, 5) | code_is_indirect(bytes, 4);
	is |= code_is_indirect(bytes, 2) | code_is_indirect(bytes, 1);
	return is;
}

/* The callee of the call before @at, whose 8 bytes are @bytes; 0: it is not a direct call. */
static __always_inline __u64 code_called(__u64 at, __u64 bytes)
{
	return (__u8)(bytes >> 24) == 0xe8 ? at + (__u64)(__s64)(__s32)(bytes >> 32) : 0;
}

#define CODE_ENDBR 0xfa1e0ff3U
#define CODE_FRAME 0xe5894855U /* push %rbp;  mov %rsp, %rbp */

#define CODE_EACH(byte) ((byte)*0x0101010101010101ULL)

/* 0x80 in each byte that is 0 in @word, 0 elsewhere. */
static __always_inline __u64 code_zeros(__u64 word)
{
	return ~(((word & CODE_EACH(0x7f)) + CODE_EACH(0x7f)) | word | CODE_EACH(0x7f));
}

static __always_inline __u64 code_are(__u64 word, __u64 byte)
{
	return code_zeros(word ^ CODE_EACH(byte));
}

/* The bytes that are @n behind those of @word. */
static __always_inline __u64 code_behind(__u64 word, __u64 next, __u32 n)
{
	return word >> n * 8 | next << (64 - n * 8);
}

/*
 * Where among the bytes of @word, before @next, could a function end? As code_zeros(). It marks
 * returns, jumps and traps, and the nops that stand between functions.
 */
static __always_inline __u64 code_ends(__u64 word, __u64 next)
{
	const __u64 seconds = code_behind(word, next, 1);
	/* ret, and not the operand of "mov %eax, %ebx" or "add $1, %ebx" */
	__u64 found = code_are(word, 0xc3) & ~((code_are(word, 0x89) | code_are(word, 0x83)) << 8);

	found |= code_are(word, 0xe9) | code_are(word, 0xeb);                      /* jmp */
	found |= code_are(word, 0xcc) | code_are(word, 0xf4);                      /* int3, hlt */
	found |= code_are(word, 0x90);                                             /* nop */
	found |= code_are(word, 0xff) & code_are(seconds & CODE_EACH(0x38), 0x20); /* jmp * */
	found |= code_are(word, 0x0f) & (code_are(seconds, 0x0b) | code_are(seconds, 0x1f));
	return found; /* with the last: ud2, nop */
}

/* Where among them does a function make its frame? */
static __always_inline __u64 code_frames(__u64 word, __u64 next)
{
	return code_are(word, 0x55) & code_are(code_behind(word, next, 1), 0x48) &
	       code_are(code_behind(word, next, 2), 0x89) &
	       code_are(code_behind(word, next, 3), 0xe5);
}

/* The last byte of which code_zeros() and its like say @found. */
static __always_inline __u32 code_last(__u64 found)
{
	__u32 at = 0;

	for (__u32 i = 1; i < 8; i++)
		at = found >> i * 8 ? i : at;
	return at;
}

/*
 * Does a function that begins at byte @at make its frame in word @i? Compilers may put other
 * instructions before that.
 */
static __always_inline _Bool code_is_frame_of(__u64 at, __u32 i)
{
	return i * 8ULL + 8 - at <= MOST_BEFORE_FRAME;
}

/* Could @word, found on the stack that goes up from @sp, be a return address at all? */
static __always_inline _Bool code_is_address(__u64 word, __u64 sp)
{
	return word >= 4096 && word >> 47 == 0 && word - sp >= UNWIND_LIKELY_STACK_BYTES;
}

/*
 * In a function's first or last instructions rbp is not its own. Returns the rule that the
 * instructions give; UNWIND_NO_ROW: none. @bytes are those at pc - 1.
 */
static __always_inline struct unwind_rule code_edge_rule(__u64 bytes)
{
	const __u64 at = bytes >> 8;
	const struct unwind_rule is_pushed = { .offset = 16,
					       .bp = -2,
					       .how = UNWIND_HOW(UNWIND_IS, UNWIND_RSP) };

	/* ret; rep ret; push %rbp; endbr64, push %rbp */
	if ((at & 0xff) == 0xc3 || (at & 0xffff) == 0xc3f3 || (__u32)at == CODE_FRAME ||
	    at == ((__u64)(CODE_FRAME & 0xffffff) << 32 | CODE_ENDBR))
		return UNWIND_AT_ENTRY;
	/* pop %rbp, ret; push %rbp done, mov %rsp, %rbp to come */
	if ((at & 0xffff) == 0xc35d || (__u32)bytes == CODE_FRAME)
		return is_pushed;
	return (struct unwind_rule){};
}
