// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file may say that the sibling of an entry (DIE) is one before it, or one of its children. In a
 * tree without such tricks each entry lies behind the one that was read before: others are not
 * read. So no entry is read twice.
 */
#include "elf/scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

#define MOST_DEPTH 256
/* Of one file: 96 MiB. Chromium has some two millions. */
#define MOST_FUNCTIONS (1U << 22)

/* One range of a function's code. */
struct function {
	uint64_t start, end;
	Dwarf_Off die;
};

struct unit_functions {
	struct function *list; /* by rising address */
	size_t n, capacity;
};

struct reading {
	struct scopes *scopes;
	struct unit_functions *into;
	Dwarf_Off last; /* entry that was read last */
};

void scopes_fini(struct scopes *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->lists[i].list);
	free(s->lists);
	u64_map_fini(&s->units);
	*s = (struct scopes){};
}

/* Of two functions with the same code the first one in the file comes last, and is found. */
static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->die < y->die) - (x->die > y->die);
}

/* False: it is not behind the one before. */
static bool is_next(Dwarf_Off *last, Dwarf_Die *die)
{
	const Dwarf_Off at = dwarf_dieoffset(die);

	if (at <= *last)
		return false;
	*last = at;
	return true;
}

static void add_function(struct reading *r, Dwarf_Die *die)
{
	struct function f = { .die = dwarf_dieoffset(die) };
	Dwarf_Addr base = 0;
	ptrdiff_t place = 0;

	while (r->scopes->n_functions < MOST_FUNCTIONS &&
	       (place = dwarf_ranges(die, place, &base, &f.start, &f.end)) > 0)
		if (f.start < f.end) {
			array_push(r->into->list, r->into->n, r->into->capacity, f);
			r->scopes->n_functions++;
		}
}

/* Functions may be within it. */
static bool is_outer(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/* *@n levels are open. Close those whose last entry this was, and go on to the next one. */
static void go_on(Dwarf_Die *levels, size_t *n)
{
	while (*n && dwarf_siblingof(&levels[*n - 1], &levels[*n - 1]) != 0)
		(*n)--;
}

static void read_unit(struct reading *r, Dwarf_Die *unit)
{
	Dwarf_Die levels[MOST_DEPTH]; /* the entry on each */
	size_t n = dwarf_child(unit, &levels[0]) == 0;

	while (n) {
		Dwarf_Die *die = &levels[n - 1];
		const int tag = dwarf_tag(die);

		if (!is_next(&r->last, die)) {
			n--;
			go_on(levels, &n);
			continue;
		}
		if (tag == DW_TAG_subprogram)
			add_function(r, die);
		if (is_outer(tag) && n < MOST_DEPTH && dwarf_child(die, &levels[n]) == 0)
			n++;
		else
			go_on(levels, &n);
	}
}

static const struct unit_functions *functions_of(struct scopes *s, Dwarf_Die *unit)
{
	bool is_new;
	const Dwarf_Off at = dwarf_dieoffset(unit);
	const uint32_t i = *u64_map_put(&s->units, at, (uint32_t)s->n, &is_new);
	struct unit_functions functions = {};
	struct reading r = { s, &functions, at };

	if (is_new) {
		read_unit(&r, unit);
		if (functions.n)
			qsort(functions.list, functions.n, sizeof(*functions.list), by_start);
		array_push(s->lists, s->n, s->capacity, functions);
	}
	return &s->lists[i];
}

static const struct function *find_function(const struct unit_functions *f, uint64_t vaddr)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->list[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < f->list[low - 1].end ? &f->list[low - 1] : NULL;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* The child of *@of that has @vaddr in its code. False: none has. */
static bool find_inner(Dwarf_Die *of, uint64_t vaddr, Dwarf_Off *last, Dwarf_Die *ret)
{
	if (dwarf_child(of, ret) != 0)
		return false;
	do {
		if (!is_next(last, ret))
			return false;
		if (is_scope(dwarf_tag(ret)) && dwarf_haspc(ret, vaddr) == 1)
			return true;
	} while (dwarf_siblingof(ret, ret) == 0);
	return false;
}

static void reverse(Dwarf_Die *dies, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		const Dwarf_Die die = dies[i];

		dies[i] = dies[n - 1 - i];
		dies[n - 1 - i] = die;
	}
}

size_t scopes_at(struct scopes *s, Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die **ret)
{
	const struct function *f = find_function(functions_of(s, unit), vaddr);
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
	Dwarf_Off last = f ? f->die : 0;
	size_t n = 0, capacity = 0;
	Dwarf_Die die, inner;

	*ret = NULL;
	if (!f || !dwarf_offdie(dwarf, f->die, &die))
		return 0;
	array_push(*ret, n, capacity, die);
	while (find_inner(&die, vaddr, &last, &inner)) {
		array_push(*ret, n, capacity, inner);
		die = inner;
	}
	reverse(*ret, n);
	return n;
}
