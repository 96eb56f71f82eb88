/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/late.h - walk the rest of a deferred hit's stack (bpf/deferred.h), by the step of
 * bpf/walk.h. Pure: the caller finds the rules.
 *
 * The result has the words that the programs would have got with the same rules, with two
 * exceptions, because code was not recorded. Code without a row cuts the stack
 * (UNWIND_END_NO_ROW), where a program may prove a step. And steps through code of JIT compilers
 * are marked as unverified.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/recorded.h"
#include "bpf/walk.h"

/*
 * Put the rule at @addr into *@ret: UNWIND_NO_ROW if no row covers it. Returns UNWIND_GOES_ON, or
 * why there is no rule.
 */
typedef enum unwind_end late_find(void *from, uint64_t addr, struct unwind_rule *ret);

/*
 * Write the words of the whole stack to @words, innermost first, with a mark if it is cut. There
 * are at most @most_frames of them before the mark. Returns how many. Calls @find with @from, at
 * most three times for a frame.
 */
size_t late_walk(const struct recorded *r, uint32_t most_frames, late_find *find, void *from,
		 uint64_t words[STACK_WORDS]);
