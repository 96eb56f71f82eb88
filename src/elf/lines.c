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
 */
#include "elf/lines.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/internal.h"
#include "elf/scopes.h"
#include "elf/units.h"

/* The bytes of one unit, at most. libdw runs a hole in a file as a line program of as many
 * instructions as it has pairs of bytes. */
#define MOST_LINE_BYTES (64U << 20)

struct lines {
	Elf *elf;
	Dwarf *dwarf;       /* NULL: there is none */
	const char *name;   /* the file that has it, for messages; lent by the image */
	Elf_Data *programs; /* .debug_line; NULL: there is none */
	struct units units;
	struct scopes scopes;
};

void lines_free(struct lines *l)
{
	if (!l)
		return;
	(void)dwarf_end(l->dwarf);
	(void)elf_end(l->elf);
	units_fini(&l->units);
	scopes_fini(&l->scopes);
	free(l);
}

/* Is it ".debug_@what", or ".zdebug_@what", the compressed form before SHF_COMPRESSED? */
static bool is_debug_section(const char *name, const char *what)
{
	return (strncmp(name, ".debug_", 7) == 0 && strcmp(name + 7, what) == 0) ||
	       (strncmp(name, ".zdebug_", 8) == 0 && strcmp(name + 8, what) == 0);
}

static bool has_dwarf(const struct image *im)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (is_debug_section(im->sections[i].name, "info") &&
		    im->sections[i].type == SHT_PROGBITS && im->sections[i].size)
			return true;
	return false;
}

static Elf_Data *find_programs(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && is_debug_section(name, "line"))
			return elf_getdata(section, NULL);
	}
	return NULL;
}

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* libelf unpacks what it can. It knows zstd since elfutils 0.189, if it was built with that. */
static bool has_packed_sections(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Chdr packed;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getchdr(section, &packed) && packed.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

/* Open the DWARF of @im's debug file, or else of @im itself. */
static struct lines *open_lines(const struct image *im)
{
	struct lines *l = xcalloc(1, sizeof(*l));
	const struct image *of = im->debug && has_dwarf(im->debug) ? im->debug : im;

	if (!has_dwarf(of) || elf_version(EV_CURRENT) == EV_NONE)
		return l;
	/* libelf writes to the headers when it unpacks a section. These pages become our copy. */
	if (of->is_mapped && !image_unlock_headers(of))
		return l;
	l->name = of->name;
	l->elf = elf_memory(of->memory, of->size);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;

	const char *why = l->dwarf ? units_read(&l->units, l->dwarf) : dwarf_errmsg(-1);

	if (l->elf && has_packed_sections(l->elf))
		why = "packed by zstd, which this libelf lacks";
	if (why)
		log_warn_once("%s: cannot read all of .debug_info: %s", l->name, why);
	if (l->dwarf)
		l->programs = find_programs(l->elf);
	return l;
}

/* Convert @vaddr to an address of the debug file, because the file may have been moved since. */
static bool to_debug_address(const struct image *im, uint64_t vaddr, uint64_t *ret)
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

/* The length in the header of the table of lines at @at; 0: there is none. */
static uint64_t lines_length(const Elf_Data *programs, uint64_t at)
{
	struct {
		uint32_t narrow;
		uint64_t wide;
	} __attribute__((packed)) length = {};

	if (!programs || at >= programs->d_size || programs->d_size - at < sizeof(length))
		return 0;
	memcpy(&length, (const char *)programs->d_buf + at, sizeof(length));
	return length.narrow == UINT32_MAX ? length.wide : length.narrow;
}

static bool may_read_lines(const struct lines *l, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word at;

	if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &at) != 0)
		return false;
	if (lines_length(l->programs, at) <= MOST_LINE_BYTES)
		return true;
	log_warn_once("%s: skipping .debug_line of a unit: larger than %u MiB", l->name,
		      MOST_LINE_BYTES >> 20);
	return false;
}

static const char *name_of_die(Dwarf_Die *die)
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

static uint32_t attribute_number(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, which, &attribute), &value) != 0)
		return 0;
	return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* The place of the call of inlined function @die. @unit is NULL if its lines cannot be read. */
static struct image_call inlined_call_of(Dwarf_Die *unit, Dwarf_Die *die)
{
	struct image_call call = { .line = attribute_number(die, DW_AT_call_line) };
	uint32_t file = attribute_number(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (unit && call.line && dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		call.file = dwarf_filesrc(files, file, NULL, NULL);
	if (!call.file)
		call.line = 0;
	return call;
}

static struct image_call line_of_address(Dwarf_Die *unit, uint64_t vaddr)
{
	struct image_call call = {};
	Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, vaddr) : NULL;
	int n = 0;

	if (line && dwarf_lineno(line, &n) == 0 && n > 0)
		call.file = dwarf_linesrc(line, NULL, NULL);
	call.line = call.file ? (uint32_t)n : 0;
	return call;
}

size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most)
{
	cleanup(scope_list_fini) struct scope_list scopes = {};
	uint64_t at;

	if (!im->lines)
		im->lines = open_lines(im);
	if (!most || !to_debug_address(im, vaddr, &at))
		return 0;

	const struct unit *unit = units_find(&im->lines->units, at);
	Dwarf_Die die;

	if (!unit || !dwarf_offdie(im->lines->dwarf, unit->die, &die))
		return 0;

	const char *why = scopes_at(&im->lines->scopes, &die, at, &scopes);

	if (why) {
		log_warn_once("%s: no source lines for one unit: %s", im->lines->name, why);
		return 0;
	}

	Dwarf_Die *lines = may_read_lines(im->lines, &die) ? &die : NULL;
	struct image_call call = line_of_address(lines, at);
	size_t n = 0;

	for (size_t i = 0; i + 1 < scopes.n && n + 1 < most; i++) {
		call.name = name_of_die(&scopes.dies[i]);
		if (call.name)
			to[n++] = call;
		call = inlined_call_of(lines, &scopes.dies[i]);
	}
	if (n == 0 && !call.file)
		return 0;
	to[n++] = call;
	return n;
}
