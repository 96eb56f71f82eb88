/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/rules.h - rules of frames, and what a table says of one. */
#pragma once

#include "table_reading.h"
#include "test.h"

#define RULE(kind, reg, n, bp_words, bx_words)      \
	((struct unwind_rule){ .offset = (n),       \
			       .fp = (bp_words),    \
			       .third = (bx_words), \
			       .how = UNWIND_HOW(kind, reg) })

static inline void expect_rule(const struct unwind_table *t, uint64_t vaddr,
			       struct unwind_rule wanted, const char *what)
{
	const struct unwind_rule is = unwind_table_at(t, vaddr);

	if (memcmp(&is, &wanted, sizeof(is)) != 0)
		fail_msg("%s at %#lx: kind %d reg %d offset %d bp %d bx %d, not %d %d %d %d %d",
			 what, vaddr, is.how & 15, is.how >> 4, is.offset, is.fp, is.third,
			 wanted.how & 15, wanted.how >> 4, wanted.offset, wanted.fp, wanted.third);
}
