/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/scopes.h - the function of a DWARF unit that an address lies in, and the functions that were
 * inlined there. Each unit is read once, when it is first asked for. libdw's dwarf_getscopes()
 * reads it for each address: that took seconds for a report.
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
	uint64_t n_entries; /* that were read, for tests */
};

/* To be zero before the first use. */
struct scope_list {
	Dwarf_Die *dies; /* innermost first: inlined functions, and last the function */
	size_t n, capacity;
};

void scopes_fini(struct scopes *s);
void scope_list_fini(struct scope_list *list);

/*
 * The inlined functions around @vaddr, each within the next one's code, and the function. None if
 * @unit has no function there. Returns NULL, or why that is not known.
 */
const char *scopes_at(struct scopes *s, Dwarf_Die *unit, uint64_t vaddr, struct scope_list *ret);
