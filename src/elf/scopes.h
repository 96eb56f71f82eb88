/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/scopes.h - find the function of a DWARF unit that an address lies in, and the functions that
 * were inlined there. We read each unit once, at its first question. libdw's dwarf_getscopes()
 * reads it for each address, which took seconds for a report.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct unit_functions;

/* The units of a file that were read. A zeroed struct has none. */
struct scopes {
	struct u64_map units; /* from the offset of a unit's DIE to the number of its list */
	struct unit_functions *lists;
	size_t n, capacity;
	size_t n_functions; /* in all lists */
};

/* The scopes of an address. A zeroed struct is empty. */
struct scope_list {
	Dwarf_Die *dies; /* innermost first: inlined functions, and last the function */
	size_t n, capacity;
};

void scopes_fini(struct scopes *s);
void scope_list_fini(struct scope_list *list);

/*
 * Append the inlined functions at @vaddr, each within the next one, and the function itself. None
 * if @unit has no function there. Returns NULL, or the reason why the answer is not known.
 */
const char *scopes_at(struct scopes *s, Dwarf_Die *unit, uint64_t vaddr, struct scope_list *ret);
