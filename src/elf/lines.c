// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DWARF is a tree for each unit of compilation (CU):
 *
 *	compile_unit         calls.c   0x1139..0x11f0
 *	  subprogram         main      0x1150..0x11f0
 *	    inlined_subroutine  of branch   0x1160..0x1180, called at calls.c:31
 *	      inlined_subroutine  of leaf   0x1168..0x1170, called at calls.c:22
 *
 * and a table of lines for each CU. The table gives the line of the innermost function at an
 * address. Each outer function is at the line of its call.
 *
 * We keep the ranges of all units, and those of the functions of each unit that was asked for.
 * libdw's dwarf_getscopes() reads a unit for each address, which took seconds for a report, and
 * does not look into namespaces.
 *
 * A file can make libdw take any time and memory, or run out of stack. That ends the child that
 * reads it, and symbolize/image_names.c then asks for its names without lines.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "elf/internal.h"

/* --- the code of entries --- */

/* A range of the code of an entry (DIE), which is a unit or a function. */
struct die_range {
	uint64_t start, end;
	Dwarf_Off die;
};

/* A zeroed struct is empty. */
struct die_ranges {
	struct die_range *list; /* by ascending address */
	size_t n, capacity;
};

/* The DWARF of one file. */
struct lines {
	void *unpacked; /* a copy of the file, if libelf has to unpack sections */
	Elf *elf;
	Dwarf *dwarf; /* NULL: there is none */
	struct die_ranges units;
	struct u64_map numbers;       /* from the offset of a unit's DIE to that of its functions */
	struct die_ranges *functions; /* of the units that were read */
	size_t n_read, capacity;
};

static void add_die_ranges(struct die_ranges *to, Dwarf_Die *die)
{
	struct die_range range = { .die = dwarf_dieoffset(die) };
	Dwarf_Addr base = 0;
	ptrdiff_t place = 0;

	while ((place = dwarf_ranges(die, place, &base, &range.start, &range.end)) > 0)
		if (range.start < range.end)
			array_push(to->list, to->n, to->capacity, range);
}

/* Of two entries with the same code, the file's first one comes last, so find_die_range() finds it.
 */
static int by_range_start(const void *a, const void *b)
{
	const struct die_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->die < y->die) - (x->die > y->die);
}

static void sort_die_ranges(struct die_ranges *r)
{
	if (r->n)
		qsort(r->list, r->n, sizeof(*r->list), by_range_start);
}

/* Ranges overlap in broken files only. */
static const struct die_range *find_die_range(const struct die_ranges *r, uint64_t vaddr)
{
	const size_t n = array_count_below(r->list, r->n, sizeof(*r->list), vaddr + 1);

	return n && vaddr < r->list[n - 1].end ? &r->list[n - 1] : NULL;
}

/* --- units --- */

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

/*
 * .debug_aranges has the unit of an address, but not all compilers write it. So we read the ranges
 * of all units, once.
 *
 * For libdw, zeros are units of 4 bytes and version 0. A hole has any number of these, so such a
 * unit ends the reading. libdw itself finds no unit behind it, either. Returns NULL, or the reason
 * why not all was read.
 */
static const char *read_units(struct lines *l)
{
	Dwarf_Off at = 0, next = 0;
	size_t n_header;
	Dwarf_Half version;
	Dwarf_Die die;
	int result;

	while ((result = dwarf_next_unit(l->dwarf, at, &next, &n_header, &version, NULL, NULL, NULL,
					 NULL, NULL)) == 0) {
		if (version < 2 || version > 5)
			return "unsupported DWARF version";
		if (dwarf_offdie(l->dwarf, at + n_header, &die) && has_functions(&die))
			add_die_ranges(&l->units, &die);
		at = next;
	}
	return result < 0 ? dwarf_errmsg(-1) : NULL;
}

/* --- functions --- */

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

/* NOLINTNEXTLINE(misc-no-recursion): a file that is too deep ends the child */
static void add_functions(struct die_ranges *to, Dwarf_Die *parent)
{
	Dwarf_Die die;

	for (int end = dwarf_child(parent, &die); end == 0; end = dwarf_siblingof(&die, &die)) {
		const int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_die_ranges(to, &die);
		if (may_have_functions(tag))
			add_functions(to, &die);
	}
}

static const struct die_ranges *functions_of(struct lines *l, Dwarf_Die *unit)
{
	bool is_new;
	const Dwarf_Off at = dwarf_dieoffset(unit);
	const uint32_t i = *u64_map_put(&l->numbers, at, (uint32_t)l->n_read, &is_new);
	struct die_ranges functions = {};

	if (is_new) {
		add_functions(&functions, unit);
		sort_die_ranges(&functions);
		array_push(l->functions, l->n_read, l->capacity, functions);
	}
	return &l->functions[i];
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Set *@scope to its child that has @vaddr. */
static bool enter_scope(Dwarf_Die *scope, uint64_t vaddr)
{
	Dwarf_Die die;

	for (int end = dwarf_child(scope, &die); end == 0; end = dwarf_siblingof(&die, &die))
		if (is_scope(dwarf_tag(&die)) && dwarf_haspc(&die, vaddr) > 0) {
			*scope = die;
			return true;
		}
	return false;
}

/* The depth of calls that are inlined into one another. Compilers stop far below. */
#define MOST_SCOPES 256

/*
 * Set @ret to the function at @vaddr, and the inlined ones, each within the one before. Returns
 * their number; 0: @unit has no function there.
 */
static size_t scopes_at(struct lines *l, Dwarf_Die *unit, uint64_t vaddr,
			Dwarf_Die ret[MOST_SCOPES])
{
	const struct die_range *f = find_die_range(functions_of(l, unit), vaddr);
	Dwarf_Die die;
	size_t n = 1;

	if (!f || !dwarf_offdie(l->dwarf, f->die, &die))
		return 0;
	ret[0] = die;
	while (n < MOST_SCOPES && enter_scope(&die, vaddr))
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			ret[n++] = die;
	return n;
}

/* --- lines --- */

void lines_free(struct lines *l)
{
	if (!l)
		return;
	(void)dwarf_end(l->dwarf);
	(void)elf_end(l->elf);
	free(l->unpacked);
	free(l->units.list);
	for (size_t i = 0; i < l->n_read; i++)
		free(l->functions[i].list);
	free(l->functions);
	u64_map_fini(&l->numbers);
	free(l);
}

static bool has_dwarf(const struct image *im)
{
	const struct section *info = section_named(im, ".debug_info");

	return (info && info->type == SHT_PROGBITS && info->size) ||
	       section_named(im, ".zdebug_info");
}

/* Is a section compressed, with a flag or in the form before that (.zdebug_info)? */
static bool is_packed(const struct image *im)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].flags & SHF_COMPRESSED ||
		    strncmp(im->sections[i].name, ".zdebug_", 8) == 0)
			return true;
	return false;
}

/* Open the DWARF of @im's debug file, or else of @im itself. */
static struct lines *open_lines(const struct image *im)
{
	struct lines *l = xcalloc(1, sizeof(*l));
	const struct image *of = im->debug && has_dwarf(im->debug) ? im->debug : im;
	const char *why;

	if (!has_dwarf(of) || elf_version(EV_CURRENT) == EV_NONE)
		return l;
	/* libelf writes to the headers when it unpacks a section. */
	if (is_packed(of)) {
		l->unpacked = xmalloc(of->size);
		memcpy(l->unpacked, of->data, of->size);
	}
	l->elf = elf_memory(l->unpacked ? l->unpacked : of->memory, of->size);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	/* libdw leaves out what this libelf cannot unpack, as zstd before elfutils 0.189. */
	why = l->dwarf      ? read_units(l)
	      : l->unpacked ? "its compression is not known"
			    : dwarf_errmsg(-1);
	sort_die_ranges(&l->units);
	if (why)
		log_warn_once("%s: cannot read all of .debug_info: %s", of->name, why);
	return l;
}

static const char *name_of_die(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name) /* DWARF 2 and 3 */
		name = dwarf_formstring(
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

static uint32_t attribute_number(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, which, &attribute), &value) != 0)
		return 0;
	return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* The place of the call of inlined function @die. */
static struct image_call inlined_call_of(Dwarf_Die *unit, Dwarf_Die *die)
{
	struct image_call call = { .line = attribute_number(die, DW_AT_call_line) };
	const uint32_t file = attribute_number(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (call.line && dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		call.file = dwarf_filesrc(files, file, NULL, NULL);
	if (!call.file)
		call.line = 0;
	return call;
}

static struct image_call line_of_address(Dwarf_Die *unit, uint64_t vaddr)
{
	struct image_call call = {};
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int n = 0;

	if (line && dwarf_lineno(line, &n) == 0 && n > 0)
		call.file = dwarf_linesrc(line, NULL, NULL);
	call.line = call.file ? (uint32_t)n : 0;
	return call;
}

size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most)
{
	Dwarf_Die unit, scopes[MOST_SCOPES];
	const struct die_range *range;
	struct image_call call;
	size_t n = 0;

	if (!im->lines)
		im->lines = open_lines(im);
	range = find_die_range(&im->lines->units, vaddr);
	if (!most || !range || !dwarf_offdie(im->lines->dwarf, range->die, &unit))
		return 0;
	call = line_of_address(&unit, vaddr);
	for (size_t i = scopes_at(im->lines, &unit, vaddr, scopes); i-- > 1 && n + 1 < most;) {
		call.name = name_of_die(&scopes[i]);
		if (call.name)
			to[n++] = call;
		call = inlined_call_of(&unit, &scopes[i]);
	}
	if (n == 0 && !call.file)
		return 0;
	to[n++] = call;
	return n;
}
