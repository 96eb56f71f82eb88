/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/user_step.h - from a frame of x86-64 to its caller. The return address is at CFA - 8.
 * For arch/user_step.h only.
 */
#pragma once

#include "arch/user_step.h"

/* The frame after "push %rbp; mov %rsp,%rbp". */
#define UNWIND_BY_FRAMES(kind) \
	((struct unwind_rule){ .offset = 16, .fp = -2, .how = UNWIND_HOW(kind, UNWIND_RBP) })

#define UNWIND_AT_ENTRY \
	((struct unwind_rule){ .offset = 8, .how = UNWIND_HOW(UNWIND_IS, UNWIND_RSP) })

/*
 * From a signal handler's return to the interrupted frame. rsp points to a struct ucontext. The
 * registers lie 40 bytes into it, in the kernel's order (struct sigcontext).
 */
static __always_inline enum unwind_end unwind_signal(struct unwind_regs *regs, unwind_read *read,
						     void *from)
{
	__u64 at = regs->of[UNWIND_RSP] + 40;
	__u64 sp = 0;
	_Bool is_read = 1;

	is_read &= read(from, at + 120, &sp);
	is_read &= read(from, at + 128, &regs->pc);
	if (!is_read)
		return UNWIND_END_UNREADABLE;
	if (!unwind_is_way_on(regs, sp))
		return UNWIND_END_NOT_ADVANCING;
	for (__u32 i = 0; i < 8; i++)
		is_read &= read(from, at + i * 8ULL, &regs->of[8 + i]);
	is_read &= read(from, at + 64, &regs->of[UNWIND_RDI]);
	is_read &= read(from, at + 72, &regs->of[UNWIND_RSI]);
	is_read &= read(from, at + 80, &regs->of[UNWIND_RBP]);
	is_read &= read(from, at + 88, &regs->of[UNWIND_RBX]);
	is_read &= read(from, at + 96, &regs->of[UNWIND_RDX]);
	is_read &= read(from, at + 104, &regs->of[UNWIND_RAX]);
	is_read &= read(from, at + 112, &regs->of[UNWIND_RCX]);
	regs->of[UNWIND_RSP] = sp;
	regs->known = UNWIND_ALL_KNOWN;
	regs->is_exact = 1;
	return is_read ? UNWIND_GOES_ON : UNWIND_END_UNREADABLE;
}

/* The CFA by @rule. */
static __always_inline enum unwind_end unwind_cfa(const struct unwind_regs *regs,
						  struct unwind_rule rule, unwind_read *read,
						  void *from, __u64 *ret)
{
	__u32 kind = rule.how & 15;
	__u32 reg = kind == UNWIND_PC_IN ? UNWIND_RSP : rule.how >> 4;

	if (!unwind_is_known(regs, reg))
		return UNWIND_END_UNFIT;
	*ret = regs->of[reg] + (__u64)rule.offset;
	if (kind == UNWIND_AT || kind == UNWIND_AT_BY_FP || kind == UNWIND_AT_8) {
		if (!read(from, *ret, ret))
			return UNWIND_END_UNREADABLE;
		*ret += kind == UNWIND_AT_8 ? 8 : 0;
	} else if (kind == UNWIND_PLT) {
		*ret += (regs->pc & 15) >= (__u64)rule.fp ? 8 : 0;
	}
	return UNWIND_GOES_ON;
}

/* Restore rbp and rbx of the caller, whose rsp is @cfa. */
static __always_inline enum unwind_end unwind_restore(struct unwind_regs *regs,
						      struct unwind_rule rule, __u64 cfa,
						      unwind_read *read, void *from)
{
	__u32 kind = rule.how & 15;
	_Bool is_by_bp = kind == UNWIND_IS_BY_FP || kind == UNWIND_AT_BY_FP;
	__u64 base = is_by_bp ? regs->of[UNWIND_RBP] : cfa;

	if (is_by_bp && !unwind_is_known(regs, UNWIND_RBP))
		return UNWIND_END_UNFIT;
	regs->known &= 1U << UNWIND_RBP | 1U << UNWIND_RBX;
	regs->known |= 1U << UNWIND_RSP;
	regs->of[UNWIND_RSP] = cfa;
	if (kind == UNWIND_PLT)
		return UNWIND_GOES_ON;
	if (rule.fp == UNWIND_FP_LOST)
		regs->known &= ~(1U << UNWIND_RBP);
	else if (rule.fp || is_by_bp)
		unwind_saved(regs, UNWIND_RBP, base, rule.fp, read, from);
	if (rule.third == UNWIND_THIRD_LOST)
		regs->known &= ~(1U << UNWIND_RBX);
	else if (rule.third)
		unwind_saved(regs, UNWIND_RBX, base, rule.third, read, from);
	return UNWIND_GOES_ON;
}

/* From a frame to its caller, by a rule that gives its place. */
static __always_inline enum unwind_end
unwind_call(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	__u32 reg = rule.how >> 4;
	_Bool is_pc_in = (rule.how & 15) == UNWIND_PC_IN;
	__u64 cfa, pc = 0;
	enum unwind_end end = unwind_cfa(regs, rule, read, from, &cfa);

	if (end)
		return end;
	if (is_pc_in && !unwind_is_known(regs, reg))
		return UNWIND_END_UNFIT;
	if (is_pc_in)
		pc = regs->of[reg];
	else if (!unwind_is_way_on(regs, cfa))
		return UNWIND_END_NOT_ADVANCING;
	else if (!read(from, cfa - 8, &pc))
		return UNWIND_END_UNREADABLE;
	end = unwind_restore(regs, rule, cfa, read, from);
	if (end)
		return end;
	regs->pc = pc;
	regs->is_exact = (rule.how & 15) == UNWIND_PUSHED;
	return pc ? UNWIND_GOES_ON : UNWIND_END_ROOT;
}

/*
 * The same step for nearly all frames: the CFA is a register plus a number, and the saved registers
 * are in @w. False: the frame is not of this kind, and @regs are unchanged.
 */
static __always_inline _Bool unwind_quickly(struct unwind_regs *regs, struct unwind_rule rule,
					    const struct unwind_window *w)
{
	const __u32 reg = rule.how >> 4;
	const __u64 cfa = regs->of[reg] + (__u64)rule.offset;
	__u64 bp = regs->of[UNWIND_RBP], bx = regs->of[UNWIND_RBX], pc;
	__u32 known = regs->known;

	if ((rule.how & 15) != UNWIND_IS || cfa <= regs->of[UNWIND_RSP] || (cfa - w->base) % 8 ||
	    !unwind_is_known(regs, reg) || !unwind_in_window(w, cfa - 8, &pc) || !pc)
		return 0;
	if (rule.fp) {
		if (!unwind_in_window(w, cfa + 8 * (__u64)rule.fp, &bp))
			return 0;
		known |= 1U << UNWIND_RBP;
	}
	if (rule.third) {
		if (!unwind_in_window(w, cfa + 8 * (__u64)rule.third, &bx))
			return 0;
		known |= 1U << UNWIND_RBX;
	}
	regs->of[UNWIND_RSP] = cfa;
	regs->of[UNWIND_RBP] = bp;
	regs->of[UNWIND_RBX] = bx;
	regs->known = (known & (1U << UNWIND_RBP | 1U << UNWIND_RBX)) | 1U << UNWIND_RSP;
	regs->pc = pc;
	regs->is_exact = 0;
	return 1;
}

/* --- instructions that tell of a frame --- */

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

/*
 * Does code of a JIT compiler keep frame pointers?
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
