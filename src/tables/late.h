/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/late.h - walk the rest of a deferred hit's stack (bpf/deferred.h), by the functions of
 * bpf/user_step.h. Pure: the caller finds the rules.
 *
 * The result has the words that the programs would have got with the same rules. But steps through
 * code of JIT compilers are marked as unverified, because that code was not recorded. And code
 * without rows cuts the stack where the chain of frame pointers does not lead to it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/deferred.h"
#include "bpf/user_step.h"

/*
 * Write the words of the whole stack to @words, innermost first, with a mark if it is cut. There
 * are at most @most_frames of them before the mark. Returns how many. Calls @find with @from, at
 * most six times for a frame.
 */
size_t late_walk(const struct recorded *r, uint32_t most_frames, frame_find *find, void *from,
		 uint64_t words[STACK_WORDS]);
