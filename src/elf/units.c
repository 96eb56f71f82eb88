// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * .debug_aranges has the unit of an address, but not all compilers write it. So we read the ranges
 * of all units, once.
 */
#include "elf/units.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

/* Real files are far from these: Chromium's has some 50,000 units. */
#define MOST_UNITS (1U << 20)
#define MOST_RANGES (1U << 23)
#define MOST_NS (5 * NS_PER_S)

static int by_unit_start(const void *a, const void *b)
{
	const struct unit *x = a;
	const struct unit *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * The functions of a skeleton are in a .dwo file (-gsplit-dwarf). A foreign file gives its path, so
 * we do not open it. libdw recognizes the skeletons of DWARF 5, and some of DWARF 4.
 */
static bool has_functions(Dwarf_Die *unit)
{
	uint8_t type = 0;

	return dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	       (type == DW_UT_compile || type == DW_UT_partial) &&
	       !dwarf_hasattr(unit, DW_AT_GNU_dwo_name) && !dwarf_hasattr(unit, DW_AT_dwo_name);
}

static void read_ranges(struct units *u, Dwarf_Die *die)
{
	struct unit unit = { .die = dwarf_dieoffset(die) };
	Dwarf_Addr base = 0;
	ptrdiff_t place = 0;

	while (u->n < MOST_RANGES && !cpu_budget_is_spent(&u->budget) &&
	       (place = dwarf_ranges(die, place, &base, &unit.start, &unit.end)) > 0)
		if (unit.start < unit.end)
			array_push(u->list, u->n, u->capacity, unit);
}

/*
 * For libdw, zeros are units of 4 bytes and version 0. A hole has any number of these, so such a
 * unit ends the reading. libdw itself finds no unit behind it, either.
 */
static const char *read_all_units(struct units *u, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next = 0;
	size_t n_header, n_units = 0;
	Dwarf_Half version;
	Dwarf_Die die;
	int result;

	while ((result = dwarf_next_unit(dwarf, at, &next, &n_header, &version, NULL, NULL, NULL,
					 NULL, NULL)) == 0) {
		if (version < 2 || version > 5)
			return "unsupported DWARF version";
		if (dwarf_offdie(dwarf, at + n_header, &die) && has_functions(&die))
			read_ranges(u, &die);
		if (++n_units > MOST_UNITS || u->n >= MOST_RANGES)
			return "more units or ranges than any program has";
		if (cpu_budget_is_spent(&u->budget))
			return cpu_budget_reason(&u->budget);
		at = next;
	}
	return result < 0 ? dwarf_errmsg(-1) : NULL;
}

const char *units_read(struct units *u, Dwarf *dwarf)
{
	u->budget.left_ns = MOST_NS;
	cpu_budget_resume(&u->budget);

	const char *why = read_all_units(u, dwarf);

	if (u->n)
		qsort(u->list, u->n, sizeof(*u->list), by_unit_start);
	return why;
}

void units_fini(struct units *u)
{
	free(u->list);
	*u = (struct units){};
}

/* Ranges of units overlap in broken files only. */
const struct unit *units_find(const struct units *u, uint64_t vaddr)
{
	size_t low = 0, high = u->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (u->list[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < u->list[low - 1].end ? &u->list[low - 1] : NULL;
}
