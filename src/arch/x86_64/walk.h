/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/walk.h - from a frame of x86-64 to its caller. The return address is at CFA - 8. For
 * arch/walk.h only.
 */
#pragma once

#include "arch/walk.h"

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
