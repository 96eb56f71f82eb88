/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind/pointer.h - where does a jump through a pointer lead, as far as its instructions tell? */
#pragma once

#include "unwind/flow.h"

enum pointer_jump {
	POINTER_LEAVES, /* to another function */
	POINTER_STAYS,  /* to a case of a switch, or a label, of the same function */
	POINTER_UNSURE,
};

/* The answer for @jump at @vaddr, whose way to there @f has followed. */
enum pointer_jump pointer_jump_of(const struct flow *f, uint64_t vaddr,
				  const struct instruction *jump);
