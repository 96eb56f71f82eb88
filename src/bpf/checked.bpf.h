/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/checked.bpf.h - a step by frame pointer from code without a row, with the checks of
 * bpf/checked.h. If a step passes only the weaker checks, the program takes it and marks the stack.
 *
 * Walks that find rows everywhere run none of this. The functions are global, so the verifier
 * checks each of them once.
 */
#pragma once

#include "bpf/checked.h"
#include "bpf/rule.bpf.h"
#include "bpf/walk.bpf.h"

int read_word(struct scratch_slot *slot, __u64 at);

/*
 * The result of a callback of bpf_loop(): 0 or 1. For the verifier, a global function may return
 * any number. clang 19 infers 0 or 1 from our code, and drops a comparison that would show it to
 * the verifier.
 */
static __always_inline long loop_result(int is_over)
{
	asm volatile("" : "+r"(is_over));
	return is_over != 0;
}

__noinline int may_be_call(__u64 bytes)
{
	return code_may_be_call(bytes);
}

/*
 * Could the word at 8 * @i above the stack pointer be a return address? Then set slot->is_hidden
 * and return 1. An unreadable word counts as one.
 */
__noinline int find_hidden(struct scratch_slot *slot, __u32 i)
{
	__u64 word;

	if (!slot)
		return 1;
	if (read_word(slot, slot->regs.of[UNWIND_REG_SP] + i * 8ULL)) {
		word = slot->word;
		if (!code_is_address(word, slot->regs.of[UNWIND_REG_SP]) ||
		    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(word - 8)) ||
		    !may_be_call(slot->word))
			return 0;
	}
	slot->is_hidden = 1;
	return 1;
}

static long hidden_callback(__u64 i, struct scratch_slot **slot)
{
	return loop_result(find_hidden(*slot, (__u32)i));
}

/* Could one of the @n words from the stack pointer up to the frame pointer be a return address? */
__noinline int has_hidden(struct scratch_slot *slot, __u32 n)
{
	if (!slot || n > PROVEN_FRAME_WORDS)
		return 1;
	slot->is_hidden = 0;
	if (config.has_loop) {
		bpf_loop(n, hidden_callback, &slot, 0);
		return (int)slot->is_hidden;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < PROVEN_FRAME_WORDS; i++)
		if (i >= n || find_hidden(slot, i))
			break;
	return (int)slot->is_hidden;
}

/*
 * Examine word @i of the slot's code, counted from the last one. Returns 1 to stop. Then
 * slot->frames is not 0 if a frame set-up stands behind the last byte that could end a function.
 */
__noinline int find_frame(struct scratch_slot *slot, __u32 i)
{
	__u64 ends;

	if (!slot)
		return 1;
	i = (CODE_WORDS - 1 - i) & (CODE_WORDS - 1);
	ends = code_ends(slot->code[i], slot->code[i + 1]);
	slot->frames = code_frames(slot->code[i], slot->code[i + 1]);
	slot->frames_at = i;
	if (slot->frames > ends)
		return 1;
	slot->frames = 0;
	return ends != 0;
}

static long frame_callback(__u64 i, struct scratch_slot **slot)
{
	return loop_result(find_frame(*slot, (__u32)i));
}

/*
 * Is the pc in a function that has set up its frame? A call stands before the return address.
 * @called is its callee, or 0 if the call is indirect.
 */
__noinline int is_in_frame(struct scratch_slot *slot, __u64 called)
{
	__u64 start;

	if (!slot)
		return 0;
	start = slot->regs.pc - CODE_BYTES;
	if (bpf_probe_read_user(slot->code, CODE_BYTES, (void *)start))
		return 0;
	slot->code[CODE_WORDS] = 0;
	if (!slot->regs.is_exact && code_is_direct_call(slot->code[CODE_WORDS - 1]))
		slot->code[CODE_WORDS - 1] &= CODE_BEFORE_CALL;
	if (config.has_loop) {
		bpf_loop(CODE_WORDS, frame_callback, &slot, 0);
	} else {
#pragma clang loop unroll(disable)
		for (__u32 i = 0; i < CODE_WORDS; i++)
			if (find_frame(slot, i))
				break;
	}
	return slot->frames && (!called || code_is_frame_of(called - start, slot->frames_at));
}

/* Do the instructions prove the step (bpf/checked.h)? @called: as for is_in_frame(). */
static __always_inline bool is_proven(struct scratch_slot *slot, __u64 called)
{
	const __u64 n_words = (slot->regs.of[UNWIND_REG_FP] - slot->regs.of[UNWIND_REG_SP]) / 8;

	return n_words <= PROVEN_FRAME_WORDS && is_in_frame(slot, called) &&
	       !has_hidden(slot, (__u32)n_words);
}

/*
 * Read the return address at @at of the stack into *@ret, and the 8 bytes of code before it into
 * slot->word. Returns false if it cannot be a return address. If slot->word is 0, no call stands
 * there. Then makecontext(), or the code that begins a fiber, put the address on the stack. See
 * end_at_beginning().
 */
static __always_inline bool find_call(struct scratch_slot *slot, __u64 at, __u64 *ret)
{
	bool is_gap, is_root;
	int end;

	if (!read_word(slot, at))
		return false;
	*ret = slot->word;
	if (*ret < LEAST_CODE)
		return false;
	end = known_rule(slot, *ret - 1);
	if (end && end != UNWIND_END_NO_TABLE && end != UNWIND_END_NO_TABLE_YET)
		return false;
	is_gap = !end && slot->rule.how == UNWIND_NO_ROW;
	is_root = !end && slot->rule.how == UNWIND_OUTERMOST;
	if (bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(*ret - 8)))
		return false;
	if (may_be_call(slot->word))
		return true;
	is_gap = is_gap && !known_rule(slot, *ret) && slot->rule.how != UNWIND_NO_ROW;
	slot->word = 0;
	return is_gap || is_root;
}

/*
 * The rule that the instructions at the pc give, or UNWIND_NO_ROW. Only where execution stands: a
 * call does not preserve the register of a result, so it is unknown in a caller.
 */
static __always_inline struct unwind_rule edge_rule(struct scratch_slot *slot)
{
	if (!unwind_is_known(&slot->regs, UNWIND_REG_RESULT) ||
	    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(slot->regs.pc - 1)))
		return (struct unwind_rule){};
	return code_edge_rule(slot->word);
}

/*
 * Find the rule for the slot's frame, whose pc no row covers. Returns UNWIND_GOES_ON, or why the
 * walk ends.
 */
static __always_inline int find_checked(struct scratch_slot *slot)
{
	const __u64 sp = slot->regs.of[UNWIND_REG_SP];
	const __u64 fp = slot->regs.of[UNWIND_REG_FP];
	struct unwind_rule rule = edge_rule(slot);
	const bool is_edge = rule.how != UNWIND_NO_ROW;
	__u64 pc;

	if (!is_edge) {
		rule = UNWIND_BY_FRAMES(UNWIND_IS);
		if (!unwind_is_known(&slot->regs, UNWIND_REG_FP) || fp % 8 ||
		    fp - sp >= UNWIND_LIKELY_STACK_BYTES)
			return UNWIND_END_NO_ROW;
	}
	if (!find_call(slot, code_return_at(is_edge ? sp : fp, rule), &pc))
		return UNWIND_END_NO_ROW;
	if (!is_edge && !is_proven(slot, code_called(pc, slot->word)))
		slot->walked[SIDE_USER].mark |= STACK_MARK_UNVERIFIED;
	slot->rule = rule;
	return UNWIND_GOES_ON;
}
