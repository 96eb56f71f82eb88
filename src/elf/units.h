/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/units.h - the units of a file's DWARF, by the addresses of their code. */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_budget.h"

struct unit {
	uint64_t start;
	uint64_t end;
	Dwarf_Off die;
};

/* All zero: nothing was read yet. */
struct units {
	struct unit *list; /* by rising address */
	size_t n, capacity;
	struct cpu_budget budget;
};

/* Returns why .debug_info was not read to its end; NULL: it was. */
const char *units_read(struct units *u, Dwarf *dwarf);
void units_fini(struct units *u);

/* NULL: none has @vaddr in its code, or it is one whose functions are in another file. */
const struct unit *units_find(const struct units *u, uint64_t vaddr);
