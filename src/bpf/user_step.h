/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/user_step.h - one step of a walk by tables: from a user frame to its caller. Pure inline
 * functions for both sides: BPF programs bound the loop and read user memory, and tests supply
 * memory of their own. There is no libc, and every loop has a bound.
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

/*
 * The address to look up. A return address is where the call ends, and behind a call that never
 * returns another function may begin.
 */
static __always_inline __u64 unwind_look_up_at(const struct unwind_regs *regs)
{
	return regs->is_exact ? regs->pc : regs->pc - 1;
}

/* The range of a binary search: entry @low and the @n - 1 entries behind it. */
struct unwind_search {
	__u64 low;
	__u64 n;
};

/*
 * One step: narrow the search for @addr by entry @middle, which begins at @start. Both addresses
 * are less than 2^63. There is no branch, because each would double the paths that the verifier
 * follows through the rest of the search.
 */
static __always_inline void unwind_search_step(struct unwind_search *s, __u64 middle, __u64 start,
					       __u64 addr)
{
	const __u64 before = middle - s->low;
	__u64 is_behind = (__s64)(start - addr - 1) >> 63; /* all ones, or none */

	__asm__("" : "+r"(is_behind)); /* keeps compilers from making a branch of it */
	s->n = before + ((s->n - 2 * before - 1) & is_behind);
	s->low += (before + 1) & is_behind;
}

/*
 * Find the rule for the address @low of a page, whose entries are @first to @last - 1 of the @n at
 * @entries. It is the rule of the last entry that does not begin behind @low. Entry 0 of a table
 * belongs to no page, so there is always one before. False: the table lacks an entry.
 */
static __always_inline _Bool unwind_find(const struct unwind_entry *entries, __u32 n, __u32 first,
					 __u32 last, __u16 low, __u16 *ret_rule)
{
	struct unwind_search s = { first, first < last ? last - first : 0 };

	if (!first || first > n || last > n)
		return 0;
	for (int step = 0; step < UNWIND_PAGE_STEPS && s.n; step++) {
		const __u64 middle = s.low + s.n / 2;

		unwind_search_step(&s, middle, entries[middle].low, low);
	}
	*ret_rule = entries[s.low - 1].rule;
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
	return unwind_kind_of(rule) == UNWIND_FRAMES ? UNWIND_END_ROOT : UNWIND_END_CHAIN;
}

/* Do the frame's registers end the walk before the step? */
static __always_inline enum unwind_end unwind_end_before(const struct unwind_regs *regs,
							 struct unwind_rule rule)
{
	const __u64 fp = regs->of[UNWIND_REG_FP];

	switch (unwind_kind_of(rule)) {
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
	const __u32 kind = unwind_kind_of(rule);
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
	switch (unwind_kind_of(rule)) {
	case UNWIND_NO_ROW:
		return UNWIND_END_NO_ROW;
	case UNWIND_UNFIT:
		return UNWIND_END_UNFIT;
	case UNWIND_OUTERMOST:
		return UNWIND_END_ROOT;
	case UNWIND_SIGNAL:
		return unwind_signal(regs, read, from);
	default: /* all others of the 16 that there are */
		return unwind_to_caller(regs, rule, read, from);
	}
}

/* --- the rule of a frame, and the end of a walk --- */

/*
 * The programs walk with these functions, and tables/late.c walks deferred hits.
 *
 * Code without rows gets a checked step, by its frame pointer. There, the register may be the
 * function's own. If the function keeps none, or execution stands at its first or last instruction,
 * it may belong to one further out, and the step leaves out a caller. Or the register holds
 * something else. The step is taken if the frame is further up and the return address stands behind
 * a call, and the stack is marked (STACK_MARK_UNVERIFIED).
 */

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
