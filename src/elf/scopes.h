/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/scopes.h - the function of a DWARF unit that an address lies in, and what was inlined there.
 * Each unit is read once, when it is first asked for. libdw's dwarf_getscopes() reads it for each
 * address: that took seconds for a report.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct unit_functions;

/* All zero: nothing was read yet. */
struct scopes {
	struct u64_map units; /* offset of a unit's DIE: number of its functions' list */
	struct unit_functions *lists;
	size_t n, capacity;
	size_t n_functions; /* in all lists */
};

void scopes_fini(struct scopes *s);

/*
 * The DIEs around @vaddr, innermost first and each within the next one's code: lexical blocks,
 * inlined functions, and last the function. Returns how many; 0: @unit has none there. To free.
 */
size_t scopes_at(struct scopes *s, Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die **ret);
