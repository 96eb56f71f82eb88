/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/frame.h - the rule of a frame, and the end of a walk. Pure inline functions for both sides,
 * like those of bpf/walk.h: the programs walk with them, and tables/late.c walks deferred hits.
 *
 * Code without rows gets a checked step, by its frame pointer. There, the register may be the
 * function's own. If the function keeps none, or execution stands at its first or last instruction,
 * it may belong to one further out, and the step leaves out a caller. Or the register holds
 * something else. The step is taken if the frame is further up and the return address stands behind
 * a call, and the stack is marked (STACK_MARK_UNVERIFIED).
 */
#pragma once

#include "arch/user_step.h"
#include "bpf/walk.h"

/*
 * Put the rule at @addr into *@ret: UNWIND_NO_ROW if no row covers it. Returns UNWIND_GOES_ON, or
 * why there is no rule.
 */
typedef int frame_find(void *from, __u64 addr, struct unwind_rule *ret);

/* The functions that each of the two sides supplies. They are called with @from. */
struct frame_reads {
	frame_find *find;
	unwind_read *stack;
	unwind_read *code; /* 8 bytes of it */
	void *from;
};

/* Functions are aligned to so many bytes, with fewer of padding between them. */
#define MOST_PADDING 16U

static __always_inline _Bool frame_is_behind_call(struct frame_reads r, __u64 pc)
{
	__u64 bytes;

	return r.code(r.from, pc - sizeof(bytes), &bytes) && code_may_be_call(bytes);
}

/*
 * No row covers the byte before @pc, a return address. Does a function with rows begin at @pc, with
 * only padding between it and another one, and no call? Then nobody called: makecontext() or the
 * kernel put the address on the stack. Behind a call that never returns, code without rows may end
 * at @pc, too, but that is longer than padding. Changes *@rule.
 */
static __always_inline _Bool frame_is_beginning(struct frame_reads r, __u64 pc,
						struct unwind_rule *rule)
{
	return !frame_is_behind_call(r, pc) && !r.find(r.from, pc, rule) &&
	       rule->how != UNWIND_NO_ROW && !r.find(r.from, pc - MOST_PADDING, rule) &&
	       rule->how != UNWIND_NO_ROW;
}

/*
 * Put the rule for the frame into *@rule. Returns UNWIND_GOES_ON, or why there is none;
 * UNWIND_END_NO_ROW: a checked step may follow.
 */
static __always_inline int frame_rule(const struct unwind_regs *regs, _Bool is_at_entry,
				      struct frame_reads r, struct unwind_rule *rule)
{
	const int end = r.find(r.from, unwind_look_up_at(regs), rule);

	if (is_at_entry) {
		/* A function that is jumped to (FUNC.cold) has a better row. */
		if (end || rule->how == UNWIND_NO_ROW || unwind_is_by_frames(*rule))
			*rule = UNWIND_AT_ENTRY;
		return UNWIND_GOES_ON;
	}
	if (regs->is_exact) /* a probed instruction is executed in [uprobes] */
		return end == UNWIND_END_PROBED ? UNWIND_END_NO_TABLE : end;
	if (end == UNWIND_END_NO_MAPPING)
		return r.find(r.from, regs->pc, rule) == UNWIND_END_PROBED ? UNWIND_END_PROBED
									   : end;
	if (!end && rule->how == UNWIND_NO_ROW)
		return frame_is_beginning(r, regs->pc, rule) ? UNWIND_END_ROOT : UNWIND_END_NO_ROW;
	return end;
}

/* May @pc, found on the stack, be a return address? Changes *@rule. */
static __always_inline _Bool frame_is_return(struct frame_reads r, __u64 pc,
					     struct unwind_rule *rule)
{
	const int end = r.find(r.from, pc - 1, rule);
	const _Bool is_gap = !end && rule->how == UNWIND_NO_ROW;

	if (pc < LEAST_CODE ||
	    (end && end != UNWIND_END_NO_TABLE && end != UNWIND_END_NO_TABLE_YET))
		return 0;
	if (!end && rule->how == UNWIND_OUTERMOST) /* put there to begin a thread or a fiber */
		return 1;
	return frame_is_behind_call(r, pc) || (is_gap && frame_is_beginning(r, pc, rule));
}

/*
 * Put the rule of a checked step into *@rule, for a frame whose pc no row covers. Returns
 * UNWIND_GOES_ON, and the caller marks the stack; or why the walk ends. @is_unverified: the stack
 * has the mark already. Then a frame pointer of 0 ends it, by the ABI. The return address lies
 * behind the caller's frame pointer.
 */
static __always_inline int frame_checked_rule(const struct unwind_regs *regs, struct frame_reads r,
					      struct unwind_rule *rule, _Bool is_unverified)
{
	const __u64 sp = regs->of[UNWIND_REG_SP];
	const __u64 fp = regs->of[UNWIND_REG_FP];
	__u64 pc;

	if (!unwind_is_known(regs, UNWIND_REG_FP))
		return UNWIND_END_NO_ROW;
	if (!fp && is_unverified)
		return UNWIND_END_ROOT;
	if (fp % 8 || fp - sp >= UNWIND_LIKELY_STACK_BYTES ||
	    !r.stack(r.from, fp + sizeof(fp), &pc) || !frame_is_return(r, pc, rule))
		return UNWIND_END_NO_ROW;
	*rule = UNWIND_BY_FRAMES(UNWIND_IS);
	return UNWIND_GOES_ON;
}

/*
 * There is no rule for the pc of the last of the stack's *@n words, because of @end. @before: the
 * rule that led there. Returns why the walk ends.
 */
static __always_inline int frame_end_without_rule(int end, struct unwind_rule before, __u32 *n)
{
	/* Code with neither a table nor frame pointers: the address was no return address. */
	if (end == UNWIND_END_NO_MAPPING && unwind_is_by_frames(before)) {
		--*n;
		return UNWIND_END_CHAIN;
	}
	if (end == UNWIND_END_PROBED)
		--*n; /* the trampoline, which nobody called */
	return end;
}

/* Does the walk end before the caller, to which it came by @rule, is the @n-th word? */
static __always_inline int frame_end_before(const struct unwind_regs *regs, struct unwind_rule rule,
					    __u32 n, __u32 most)
{
	if (regs->pc < LEAST_CODE) /* no caller, behind a _start with a frame pointer */
		return unwind_is_by_frames(rule) ? (int)unwind_end_of_chain(rule)
						 : UNWIND_END_NO_MAPPING;
	return n >= most ? UNWIND_END_DEPTH : UNWIND_GOES_ON;
}
