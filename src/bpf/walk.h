/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/walk.h - one step of a walk by tables: from a frame to its caller. Pure inline functions for
 * both sides: BPF programs bound the loop and read user memory, and tests supply memory of their
 * own. There is no libc, and every loop has a bound.
 *
 *	rule     how to find the caller's registers (arch/user_step.h)
 *	entry    from this address on, that rule
 *	table    an image's entries and rules (unwind/table.h makes them from its CFI)
 */
#pragma once

#include "arch/user_step.h"
#include "bpf/abi.h"

/* A page of a table has the entries of 64 KiB of addresses. */
#define UNWIND_PAGE_BITS 16
#define UNWIND_PAGE_STEPS 17 /* to find one of the most entries that a page can have */

struct unwind_entry {
	__u16 low;  /* the low bits of the row's address; valid up to the next entry */
	__u16 rule; /* the rule's number; 0 is UNWIND_NO_ROW */
};
_Static_assert(sizeof(struct unwind_entry) == 4, "abi");

/* Read entry number @i of a table. False: there is none. */
typedef _Bool unwind_entry_at(void *from, __u32 i, struct unwind_entry *ret);

/*
 * The address to look up. A return address is where the call ends, and behind a call that never
 * returns another function may begin.
 */
static __always_inline __u64 unwind_look_up_at(const struct unwind_regs *regs)
{
	return regs->is_exact ? regs->pc : regs->pc - 1;
}

/*
 * Find the rule for the address @low of a page, whose entries are @first to @last - 1. It is the
 * rule of the last entry that does not begin behind @low. Entry 0 of a table belongs to no page, so
 * there is always one before. False: the table lacks an entry.
 */
static __always_inline _Bool unwind_find(__u32 first, __u32 last, __u16 low,
					 unwind_entry_at *entry_at, void *from, __u16 *ret_rule)
{
	struct unwind_entry entry;

	for (int step = 0; step < UNWIND_PAGE_STEPS && first < last; step++) {
		__u32 middle = first + (last - first) / 2;

		if (!entry_at(from, middle, &entry))
			return 0;
		if (entry.low <= low)
			first = middle + 1;
		else
			last = middle;
	}
	if (!entry_at(from, first - 1, &entry))
		return 0;
	*ret_rule = entry.rule;
	return 1;
}

static __always_inline __u32 unwind_kind_of(struct unwind_rule rule)
{
	return rule.how & 15;
}

/* Does the frame pointer lead to the caller? */
static __always_inline _Bool unwind_is_by_frames(struct unwind_rule rule)
{
	const __u32 kind = unwind_kind_of(rule);

	return kind == UNWIND_FRAMES || kind == UNWIND_MADE_FRAMES || kind == UNWIND_MADE_BARE;
}

/*
 * By the ABI the frame pointer is 0 in the outermost frame. It is 0 also where an assembler's
 * _start calls, and where Go begins. But something called the code of a JIT compiler. There, it is
 * 0 because the code uses the register for something else (Java without
 * -XX:+PreserveFramePointer).
 */
static __always_inline enum unwind_end unwind_end_of_chain(struct unwind_rule rule)
{
	return (rule.how & 15) == UNWIND_FRAMES ? UNWIND_END_ROOT : UNWIND_END_CHAIN;
}

/* Do the frame's registers end the walk before the step? */
static __always_inline enum unwind_end unwind_end_before(const struct unwind_regs *regs,
							 struct unwind_rule rule)
{
	const __u64 fp = regs->of[UNWIND_REG_FP];

	switch (rule.how & 15) {
	case UNWIND_FRAMES:
	case UNWIND_MADE_FRAMES:
		if (unwind_is_known(regs, UNWIND_REG_FP) && !fp)
			return unwind_end_of_chain(rule);
		return fp % 8 ? UNWIND_END_CHAIN : UNWIND_GOES_ON;
	case UNWIND_CLONED:
		if (!unwind_is_known(regs, UNWIND_REG_RESULT))
			return UNWIND_END_UNFIT;
		return regs->of[UNWIND_REG_RESULT] ? UNWIND_GOES_ON : UNWIND_END_ROOT;
	default:
		return UNWIND_GOES_ON;
	}
}

/*
 * The meaning of @end, to which a step by a rule for code without rows has come. Something called
 * the code of a JIT compiler, so a stack never ends there. @is_far: the frame pointer was
 * too far from the stack pointer.
 */
static __always_inline enum unwind_end unwind_end_behind(struct unwind_rule rule,
							 enum unwind_end end, _Bool is_far)
{
	const __u32 kind = rule.how & 15;
	const _Bool is_by_frames = kind == UNWIND_FRAMES || kind == UNWIND_MADE_FRAMES;

	if (end == UNWIND_END_ROOT && (is_by_frames || kind == UNWIND_MADE_BARE))
		return unwind_end_of_chain(rule);
	return end == UNWIND_END_UNREADABLE && is_by_frames && is_far ? UNWIND_END_CHAIN : end;
}

/* Only one place calls unwind_call(): each further one takes the verifier hundreds of steps. */
static __always_inline enum unwind_end
unwind_to_caller(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	const _Bool is_far =
		regs->of[UNWIND_REG_FP] - regs->of[UNWIND_REG_SP] >= UNWIND_LIKELY_STACK_BYTES;
	const enum unwind_end end = unwind_end_before(regs, rule);

	return end ? end : unwind_end_behind(rule, unwind_call(regs, rule, read, from), is_far);
}

/*
 * One step. @regs become the caller's, or are undefined if the walk ends. It calls @read with
 * @from, at most 17 times.
 */
static __always_inline enum unwind_end
unwind_step(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	switch (rule.how & 15) {
	case UNWIND_NO_ROW:
		return UNWIND_END_NO_ROW;
	case UNWIND_OUTERMOST:
		return UNWIND_END_ROOT;
	case UNWIND_SIGNAL:
		return unwind_signal(regs, read, from);
	case UNWIND_FRAMES:
	case UNWIND_MADE_FRAMES:
	case UNWIND_MADE_BARE:
	case UNWIND_CLONED:
	case UNWIND_IS:
	case UNWIND_IS_BY_FP:
	case UNWIND_AT:
	case UNWIND_AT_BY_FP:
	case UNWIND_AT_8:
	case UNWIND_PLT:
	case UNWIND_PC_IN:
	case UNWIND_PUSHED:
		return unwind_to_caller(regs, rule, read, from);
	default:
		return UNWIND_END_UNFIT;
	}
}
