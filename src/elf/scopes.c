// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The file has the entries (DIEs) of a unit in sequence, children after their parent:
 *
 *	subprogram            has children
 *	  lexical_block       has children
 *	    variable
 *	    0                 the block has no more
 *	  0                   the function has no more
 *	0                     the unit has no more
 *
 * So we read them in this order, and no entry twice. dwarf_siblingof() reads all children of an
 * entry, unless the compiler has written the place of its sibling (DW_AT_sibling). gcc does so,
 * clang and rustc do not. Calling it at each level would take the depth of the tree times its size.
 * After the last child, dwarf_siblingof() returns 1 and leaves the place of the 0 in the result.
 */
#include "elf/scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cpu_budget.h"

/* The functions of one file, at most: 96 MiB. Chromium has some two millions. */
#define MOST_FUNCTIONS (1U << 22)
/* The depth of calls that are inlined into one another. Compilers stop far below. */
#define MOST_SCOPES 256
/* The CPU time for one unit, to read it and its functions. It is enough for 500 MB of entries. */
#define UNIT_NS (5 * NS_PER_S)

/* One range of a function's code. */
struct function {
	uint64_t start, end;
	Dwarf_Off die;
};

struct unit_functions {
	struct function *list; /* by ascending address */
	size_t n, capacity;
	struct cpu_budget budget;
	const char *why; /* why the list is not complete; NULL: it is */
};

/* A walk over entries, at @die. */
struct walk {
	struct scopes *scopes;
	struct unit_functions *of;
	Dwarf_Die die;
	size_t depth;    /* levels below the entry where the walk began; 0: the walk is over */
	const char *why; /* why it ended too early; NULL: it did not */
};

void scopes_fini(struct scopes *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->lists[i].list);
	free(s->lists);
	u64_map_fini(&s->units);
	*s = (struct scopes){};
}

void scope_list_fini(struct scope_list *list)
{
	free(list->dies);
	*list = (struct scope_list){};
}

/* Of two functions with the same code, the file's first one comes last, so find_function() finds
 * it. */
static int by_function_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->die < y->die) - (x->die > y->die);
}

static void stop_walk(struct walk *w, const char *why)
{
	w->why = why;
	w->depth = 0;
}

static bool is_walk_over(struct walk *w)
{
	if (w->depth && cpu_budget_is_spent(&w->of->budget))
		stop_walk(w, cpu_budget_reason(&w->of->budget));
	return w->depth == 0;
}

/* Go to the entry after the 0 at *@null, which closes a level, and after further ones. */
static void close_levels(struct walk *w, Dwarf_Die *null)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(w->die.cu);
	Dwarf_Off at = null->addr ? dwarf_dieoffset(null) : 0;

	do {
		/* The unit may end without them. */
		if (--w->depth == 0 || !null->addr || !dwarf_offdie(dwarf, ++at, &w->die) ||
		    w->die.cu != null->cu) {
			w->depth = 0;
			return;
		}
	} while (*(const unsigned char *)w->die.addr == 0);
}

/* Go to the next entry. This one has no children, or has the place of its sibling. */
static void step_over_entry(struct walk *w)
{
	Dwarf_Die next = w->die;
	const int result = dwarf_siblingof(&w->die, &next);

	if (result == 0)
		w->die = next;
	else if (result > 0)
		close_levels(w, &next);
	else
		stop_walk(w, "invalid DWARF");
}

/* Go to the next entry, which is a child if there is one. */
static void walk_into(struct walk *w)
{
	Dwarf_Die child;

	if (dwarf_child(&w->die, &child) == 0) {
		w->die = child;
		w->depth++;
	} else {
		step_over_entry(w);
	}
}

/* Go to the next entry that is no descendant of this one. */
static void walk_over(struct walk *w)
{
	const size_t depth = w->depth;

	if (dwarf_hasattr(&w->die, DW_AT_sibling)) {
		step_over_entry(w);
		return;
	}
	do
		walk_into(w);
	while (w->depth > depth && !is_walk_over(w));
}

/* A walk at the first child of *@die, or over if there is none. */
static struct walk walk_begin(struct scopes *s, struct unit_functions *of, Dwarf_Die *die)
{
	struct walk w = { .scopes = s, .of = of };

	w.depth = dwarf_child(die, &w.die) == 0;
	return w;
}

static void add_dwarf_function(struct walk *w)
{
	struct unit_functions *of = w->of;
	struct function f = { .die = dwarf_dieoffset(&w->die) };
	Dwarf_Addr base = 0;
	ptrdiff_t place = 0;

	while (!is_walk_over(w) &&
	       (place = dwarf_ranges(&w->die, place, &base, &f.start, &f.end)) > 0) {
		if (f.start >= f.end)
			continue;
		if (w->scopes->n_functions >= MOST_FUNCTIONS) {
			stop_walk(w, "more functions than any program has");
			return;
		}
		array_push(of->list, of->n, of->capacity, f);
		w->scopes->n_functions++;
	}
}

/* Can such an entry contain functions? */
static bool may_have_functions(int tag)
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

static void read_unit(struct scopes *s, struct unit_functions *into, Dwarf_Die *unit)
{
	struct walk w = walk_begin(s, into, unit);

	while (!is_walk_over(&w)) {
		const int tag = dwarf_tag(&w.die);

		if (tag == DW_TAG_subprogram)
			add_dwarf_function(&w);
		if (w.depth && may_have_functions(tag))
			walk_into(&w);
		else if (w.depth)
			walk_over(&w);
	}
	into->why = w.why;
	if (into->n)
		qsort(into->list, into->n, sizeof(*into->list), by_function_start);
}

static struct unit_functions *functions_of(struct scopes *s, Dwarf_Die *unit)
{
	bool is_new;
	const Dwarf_Off at = dwarf_dieoffset(unit);
	const uint32_t i = *u64_map_put(&s->units, at, (uint32_t)s->n, &is_new);
	struct unit_functions functions = { .budget.left_ns = UNIT_NS };

	if (is_new) {
		cpu_budget_resume(&functions.budget);
		read_unit(s, &functions, unit);
		cpu_budget_pause(&functions.budget);
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

/* Like dwarf_haspc(), but within the budget. */
static bool has_address(struct walk *w, uint64_t vaddr)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t place = 0;

	while (!is_walk_over(w) && (place = dwarf_ranges(&w->die, place, &base, &start, &end)) > 0)
		if (vaddr >= start && vaddr < end)
			return true;
	return false;
}

/* Search the entries of a level for one that has @vaddr, then that one's children, and so on. */
static void find_inner(struct walk *w, uint64_t vaddr, struct scope_list *ret)
{
	size_t depth = 1;

	while (!is_walk_over(w) && w->depth >= depth) {
		const int tag = dwarf_tag(&w->die);

		if (!is_scope(tag) || !has_address(w, vaddr)) {
			if (w->depth)
				walk_over(w);
			continue;
		}
		if (ret->n >= MOST_SCOPES) {
			stop_walk(w, "more calls are inlined into one another than in any program");
			return;
		}
		if (tag == DW_TAG_inlined_subroutine)
			array_push(ret->dies, ret->n, ret->capacity, w->die);
		walk_into(w);
		depth++;
	}
}

static void reverse_dies(Dwarf_Die *dies, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		const Dwarf_Die die = dies[i];

		dies[i] = dies[n - 1 - i];
		dies[n - 1 - i] = die;
	}
}

const char *scopes_at(struct scopes *s, Dwarf_Die *unit, uint64_t vaddr, struct scope_list *ret)
{
	struct unit_functions *of = functions_of(s, unit);
	const struct function *f = find_function(of, vaddr);
	Dwarf_Die die;

	if (!f || !dwarf_offdie(dwarf_cu_getdwarf(unit->cu), f->die, &die))
		return of->why;

	cpu_budget_resume(&of->budget);

	struct walk w = walk_begin(s, of, &die);

	array_push(ret->dies, ret->n, ret->capacity, die);
	find_inner(&w, vaddr, ret);
	cpu_budget_pause(&of->budget);
	reverse_dies(ret->dies, ret->n);
	return w.why;
}
