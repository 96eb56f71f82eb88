/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/made.h - does code of a JIT compiler keep frame pointers? For arch/code.h only.
 *
 * The set-up of a function's frame tells. With a frame pointer:
 *
 *	mov %rsp, %rbp                                 before the room is taken, or after
 *	sub $n, %rsp;  lea n(%rsp), %rbp               .NET
 *
 * Without one, rbp belongs to an outer function, and a step by it leaves callers out:
 *
 *	push %rbp;  sub $n, %rsp                       Java's C1 and C2
 *	sub $n, %rsp;  mov %rbp, m(%rsp)               Java's C2
 *	sub $n, %rsp                                   mono, at an aligned address
 *
 * These three give the distance to the caller's frame, if the function does not move rsp further.
 * The walk takes this step and marks the stack.
 */
#pragma once

#include "arch/code.h"

#define MADE_MOST_ROOM (1 << 20)

/*
 * At which bytes of @word does an instruction of a set-up begin? @next follows @word. The result is
 * as from code_zeros().
 */
static __always_inline __u64 made_setups(__u64 word, __u64 next)
{
	const __u64 seconds = code_behind(word, next, 1);
	const __u64 thirds = code_behind(word, next, 2);
	const __u64 moves = (code_are(seconds, 0x89) & code_are(thirds, 0xe5)) |
			    (code_are(seconds, 0x8b) & code_are(thirds, 0xec));
	const __u64 rooms =
		(code_are(seconds, 0x83) | code_are(seconds, 0x81)) & code_are(thirds, 0xec);

	return code_are(word, 0x48) & (moves | rooms);
}

/* mov %rsp, %rbp */
static __always_inline _Bool made_is_move(__u64 bytes)
{
	return (bytes & 0xffffff) == 0xe58948 || (bytes & 0xffffff) == 0xec8b48;
}

/* The length of the set-up's instruction that @bytes begin with. */
static __always_inline __u32 made_length(__u64 bytes)
{
	const __u32 length = (bytes >> 8 & 0xff) == 0x81 ? 7 : 4;

	return made_is_move(bytes) ? 3 : length;
}

/*
 * Does the instruction @behind store a value of an expression into the new room? HotSpot's
 * interpreter uses vmovss, vmovsd, movss and movsd of %xmm0.
 */
static __always_inline _Bool made_is_value(__u32 behind)
{
	return (behind & 0xfffeff) == 0x11fac5 || (behind & 0xfffffe) == 0x110ff2;
}

/*
 * Does the instruction between these bytes begin a function of mono? Then padding stands before it.
 * Or the next instruction saves a register that calls preserve: mov %reg, (%rsp) or n(%rsp).
 * HotSpot's interpreter stores values of rax and other registers there.
 */
static __always_inline _Bool made_is_first(__u64 before, __u32 behind)
{
	const _Bool is_store = (behind & 0xff00fffb) == 0x24008948 && (behind >> 16 & 0x87) == 4 &&
			       (behind >> 19 & 7) >= 3;

	return is_store || (before >> 32 == 0 && !made_is_value(behind));
}

static __always_inline struct unwind_rule made_bare(__s64 offset, __s64 fp)
{
	return (struct unwind_rule){ .offset = (__s32)offset,
				     .fp = (__s16)fp,
				     .how = UNWIND_HOW(UNWIND_MADE_BARE, UNWIND_RSP) };
}

/*
 * The rule that the set-up's instruction @at, at @addr, gives. The bytes @before and @behind are
 * around it. UNWIND_NO_ROW: it gives none, and another set-up may stand before.
 */
static __always_inline struct unwind_rule made_rule(__u64 addr, __u64 before, __u64 at,
						    __u64 behind)
{
	const __u64 room = made_length(at) == 4 ? at >> 24 & 0xff : at >> 24 & 0xffffffff;
	const __u32 next = (__u32)behind;
	const __u64 saved = next == 0x246c8948 ? behind >> 32 & 0x7f : behind >> 32;

	if (made_is_move(at) || made_is_move(before >> 40) || next == 0x246c8d48 ||
	    next == 0x24ac8d48)
		return UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
	if (room % 8 || room > MADE_MOST_ROOM || (made_length(at) == 4 && room > 0x7f))
		return (struct unwind_rule){};
	if (before >> 56 == 0x55 && (before >> 48 & 0xff) != 0x41)
		return made_bare((__s64)room + 16, -2);
	if (next == 0x246c8948 || next == 0x24ac8948) /* BPF has no signed division */
		return made_bare((__s64)room + 8, (__s64)(saved / 8) - (__s64)(room / 8) - 1);
	if (addr % 16 == 0 && made_is_first(before, next))
		return made_bare((__s64)room + 8, 0);
	return (struct unwind_rule){};
}
