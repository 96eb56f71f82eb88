/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/table_reading.h - look up rules in the tables of unwind/table.h, as programs do. */
#pragma once

#include <string.h>

#include "unwind/table.h"

/* The rule at @vaddr. */
static inline struct unwind_rule unwind_table_at(const struct unwind_table *t, uint64_t vaddr)
{
	const struct unwind_rule none = {};
	uint64_t page = (vaddr - t->base) >> UNWIND_PAGE_BITS;
	uint16_t number;

	if (page >= t->n_pages || /* or before the base */
	    !unwind_find(t->entries, t->n_entries, t->pages[page], t->pages[page + 1],
			 (uint16_t)vaddr, &number) ||
	    number >= t->n_rules)
		return none;
	return t->rules[number];
}

/* The rule for @addr, the look-up's address; 0: none. */
static inline uint64_t kernel_table_find(const struct kernel_table *t, uint64_t addr)
{
	struct unwind_rule rule = {};
	uint64_t bits;

	if (addr >= t->start && addr < t->end)
		rule = unwind_table_at(&t->made.table, addr);
	memcpy(&bits, &rule, sizeof(bits));
	return bits;
}
