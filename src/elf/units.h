/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/units.h - find the unit of a file's DWARF that has an address in its code. */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_budget.h"

/* One range of a unit's code. */
struct unit {
	uint64_t start;
	uint64_t end;
	Dwarf_Off die;
};

/* A zeroed struct is empty. */
struct units {
	struct unit *list; /* by ascending address */
	size_t n, capacity;
	struct cpu_budget budget;
};

/* Read all units. Returns NULL, or the reason why it has not read .debug_info to its end. */
const char *units_read(struct units *u, Dwarf *dwarf);
void units_fini(struct units *u);

/* The unit with @vaddr in its code; NULL: none has, or its functions are in another file. */
const struct unit *units_find(const struct units *u, uint64_t vaddr);
