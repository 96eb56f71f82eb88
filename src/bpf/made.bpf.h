/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/made.bpf.h - the rule for code of a JIT compiler. The last frame set-up before the address
 * gives it (arch/user_step.h). Rules are kept (rule.bpf.h), so the search runs once for each address.
 */
#pragma once

#include "arch/user_step.h"
#include "bpf/maps.bpf.h"

#define MADE_WORDS 512 /* words of code before the address that are searched */

/*
 * Examine the set-up at @addr. Returns 1 to stop, with the rule in slot->rule, or 0 if it gives
 * none.
 */
static __always_inline long judge_setup(struct scratch_slot *slot, __u64 addr)
{
	__u64 before = 0, at = 0, behind = 0;
	struct unwind_rule rule;

	bpf_probe_read_user(&before, sizeof(before), (void *)(addr - sizeof(before)));
	bpf_probe_read_user(&at, sizeof(at), (void *)addr);
	bpf_probe_read_user(&behind, sizeof(behind), (void *)(addr + made_length(at)));
	rule = made_rule(addr, before, at, behind);
	if (rule.how == UNWIND_NO_ROW)
		return 0;
	slot->rule = rule;
	return 1;
}

/*
 * Examine the word that is @i words below the one of slot->made_at. Returns 1 to stop. A global
 * function, since newer verifiers check a callback again for each turn.
 */
__noinline int find_setup(struct scratch_slot *slot, __u64 i)
{
	__u64 here, setups;
	__u32 word;

	if (!slot)
		return 1;
	here = (slot->made_at & ~7ULL) - i * 8;
	word = here % CODE_BYTES / 8;
	if (!i || word == CODE_WORDS - 1) {
		slot->code[CODE_WORDS] = i ? slot->code[0] : 0;
		if (bpf_probe_read_user(slot->code, CODE_BYTES,
					(void *)(here & ~(CODE_BYTES - 1ULL))))
			return 1;
	}
	setups = made_setups(slot->code[word & (CODE_WORDS - 1)],
			     slot->code[(word & (CODE_WORDS - 1)) + 1]);
	if (!i)
		setups &= (1ULL << slot->made_at % 8 * 8) - 1;
	return setups ? (int)judge_setup(slot, here + code_last(setups)) : 0;
}

static long setup_callback(__u64 i, struct scratch_slot **of)
{
	int is_over = find_setup(*of, i);

	barrier_var(is_over); /* newer compilers know its values, verifiers do not */
	return is_over != 0;
}

/* Put the rule of the code at @addr into slot->rule. */
__noinline int find_made(struct scratch_slot *slot, __u64 addr)
{
	if (!slot)
		return UNWIND_END_NO_MAPPING;
	slot->rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
	slot->made_at = addr;
	bpf_loop(MADE_WORDS, setup_callback, &slot, 0);
	return UNWIND_GOES_ON;
}
