/*
 * DWARF is a tree for each unit of compilation (CU):
 *
 *	compile_unit         calls.c   0x1139..0x11f0
 *	  subprogram         main      0x1150..0x11f0
 *	    inlined_subroutine  of branch   0x1160..0x1180, called at calls.c:31
 *	      inlined_subroutine  of leaf   0x1168..0x1170, called at calls.c:22
 *
 * and a table of lines for each CU. The innermost function is at the line that the table has for
 * the address; each outer one is at the line of the call. .debug_aranges, which would say the CU
 * of an address, is not written by all compilers: so the ranges of all CUs are read once.
 */
#include "elf/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/internal.h"

struct unit {
	uint64_t start;
	uint64_t end;
	Dwarf_Off die;
};

/* By rising address. */
struct lines {
	Elf *elf;
	Dwarf *dwarf; /* NULL: there is none */
	struct unit *units;
	size_t n, capacity;
};

void lines_free(struct lines *l)
{
	if (!l)
		return;
	(void)dwarf_end(l->dwarf);
	(void)elf_end(l->elf);
	free(l->units);
	free(l);
}

static bool has_dwarf(const struct image *im)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (strcmp(im->sections[i].name, ".debug_info") == 0 &&
		    im->sections[i].type == SHT_PROGBITS && im->sections[i].size)
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct unit *x = a;
	const struct unit *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void read_units(struct lines *l)
{
	Dwarf_Off at = 0, next = 0;
	size_t n_header;

	while (dwarf_nextcu(l->dwarf, at, &next, &n_header, NULL, NULL, NULL) == 0) {
		struct unit unit = { .die = at + n_header };
		Dwarf_Addr base = 0;
		ptrdiff_t place = 0;
		Dwarf_Die die;

		at = next;
		if (!dwarf_offdie(l->dwarf, unit.die, &die))
			continue;
		while ((place = dwarf_ranges(&die, place, &base, &unit.start, &unit.end)) > 0)
			if (unit.start < unit.end)
				array_push(l->units, l->n, l->capacity, unit);
	}
	if (l->n)
		qsort(l->units, l->n, sizeof(*l->units), by_start);
}

/* That of @im itself, or of its debug file. */
static struct lines *open_lines(const struct image *im)
{
	struct lines *l = xcalloc(1, sizeof(*l));
	const struct image *of = im->debug && has_dwarf(im->debug) ? im->debug : im;

	if (!has_dwarf(of) || elf_version(EV_CURRENT) == EV_NONE)
		return l;
	/* libelf notes in the headers which sections it has unpacked: in our copy of that page. */
	if (of->is_mapped && mprotect(of->memory, of->size, PROT_READ | PROT_WRITE) != 0)
		return l;
	l->elf = elf_memory(of->memory, of->size);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	if (l->dwarf)
		read_units(l);
	return l;
}

/* Ranges of CUs do not overlap, but for those of broken files. */
static const struct unit *find_unit(const struct lines *l, uint64_t vaddr)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->units[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < l->units[low - 1].end ? &l->units[low - 1] : NULL;
}

/* @vaddr as the debug file has it: the file may have been moved since. */
static bool to_debug(const struct image *im, uint64_t vaddr, uint64_t *ret)
{
	*ret = vaddr;
	if (!im->debug || !has_dwarf(im->debug))
		return true;
	for (size_t i = 0; i < im->debug->n_sections; i++) {
		const struct section *s = &im->debug->sections[i];
		uint64_t at = vaddr - im->shifts[i].by;

		*ret = at;
		if (im->shifts[i].is_known && at >= s->vaddr && at - s->vaddr < s->size)
			return true;
	}
	return false;
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, attributes[i], &attribute));

		if (name)
			return name;
	}
	return dwarf_diename(die);
}

static uint32_t number(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, which, &attribute), &value) != 0)
		return 0;
	return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* Where the inlined @die was called. */
static struct image_call call_of(Dwarf_Die *unit, Dwarf_Die *die)
{
	struct image_call call = { .line = number(die, DW_AT_call_line) };
	uint32_t file = number(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (call.line && dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		call.file = dwarf_filesrc(files, file, NULL, NULL);
	if (!call.file)
		call.line = 0;
	return call;
}

static struct image_call line_of(Dwarf_Die *unit, uint64_t vaddr)
{
	struct image_call call = {};
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int n = 0;

	if (line && dwarf_lineno(line, &n) == 0 && n > 0)
		call.file = dwarf_linesrc(line, NULL, NULL);
	call.line = call.file ? (uint32_t)n : 0;
	return call;
}

/* The scopes around @vaddr as they lie in each other in the code; libdw has them by the source. */
static int find_scopes(Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die **ret)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(unit, vaddr, &scopes);

	if (n > 0) {
		Dwarf_Die innermost = scopes[0];

		free(scopes);
		scopes = NULL;
		n = dwarf_getscopes_die(&innermost, &scopes);
	}
	*ret = scopes;
	return n;
}

size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most)
{
	cleanup_free Dwarf_Die *scopes = NULL;
	uint64_t at;

	if (!im->lines)
		im->lines = open_lines(im);
	if (!most || !to_debug(im, vaddr, &at))
		return 0;

	const struct unit *unit = find_unit(im->lines, at);
	Dwarf_Die die;

	if (!unit || !dwarf_offdie(im->lines->dwarf, unit->die, &die))
		return 0;

	struct image_call call = line_of(&die, at);
	int n_scopes = find_scopes(&die, at, &scopes);
	size_t n = 0;

	for (int i = 0; i < n_scopes && n + 1 < most; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		call.name = name_of(&scopes[i]);
		if (call.name)
			to[n++] = call;
		call = call_of(&die, &scopes[i]);
	}
	if (n == 0 && !call.file)
		return 0;
	to[n++] = call;
	return n;
}
