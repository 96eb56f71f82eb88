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
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu_budget.h"
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
	const char *why; /* why the list is not complete; NULL: it is */
};

/* The DWARF of one file. */
struct lines {
	Elf *elf;
	Dwarf *dwarf;       /* NULL: there is none */
	const char *name;   /* the file that has it, for messages; lent by the image */
	Elf_Data *programs; /* .debug_line; NULL: there is none */
	struct cpu_budget budget;
	struct die_ranges units;
	struct u64_map numbers;       /* from the offset of a unit's DIE to that of its functions */
	struct die_ranges *functions; /* of the units that were read */
	size_t n_read, capacity;
};

/* The CPU time for all questions about a file, in one child. It is enough for 700 MB of entries. */
#define MOST_NS (7 * NS_PER_S)

static void add_die_ranges(struct lines *l, struct die_ranges *to, Dwarf_Die *die)
{
	struct die_range range = { .die = dwarf_dieoffset(die) };
	Dwarf_Addr base = 0;
	ptrdiff_t place = 0;

	while (!cpu_budget_is_spent(&l->budget) &&
	       (place = dwarf_ranges(die, place, &base, &range.start, &range.end)) > 0)
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
 * .debug_aranges has the unit of an address, but not all compilers write it. So we read the ranges
 * of all units, once.
 */

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
 * For libdw, zeros are units of 4 bytes and version 0. A hole has any number of these, so such a
 * unit ends the reading. libdw itself finds no unit behind it, either.
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
			add_die_ranges(l, &l->units, &die);
		if (cpu_budget_is_spent(&l->budget))
			return cpu_budget_reason(&l->budget);
		at = next;
	}
	return result < 0 ? dwarf_errmsg(-1) : NULL;
}

/* --- scopes --- */

/*
 * The function of a unit that an address lies in, and the functions that were inlined there. We
 * read each unit once, at its first question. libdw's dwarf_getscopes() reads it for each address,
 * which took seconds for a report.
 *
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

/* The depth of calls that are inlined into one another. Compilers stop far below. */
#define MOST_SCOPES 256
/* A walk over entries, at @die. */
struct walk {
	struct cpu_budget *budget;
	Dwarf_Die die;
	size_t depth;    /* levels below the entry where the walk began; 0: the walk is over */
	const char *why; /* why it ended too early; NULL: it did not */
};

static void stop_walk(struct walk *w, const char *why)
{
	w->why = why;
	w->depth = 0;
}

static bool is_walk_over(struct walk *w)
{
	if (w->depth && cpu_budget_is_spent(w->budget))
		stop_walk(w, cpu_budget_reason(w->budget));
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
static struct walk walk_begin(struct lines *l, Dwarf_Die *die)
{
	struct walk w = { .budget = &l->budget };

	w.depth = dwarf_child(die, &w.die) == 0;
	return w;
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

static void read_unit(struct lines *l, struct die_ranges *into, Dwarf_Die *unit)
{
	struct walk w = walk_begin(l, unit);

	while (!is_walk_over(&w)) {
		const int tag = dwarf_tag(&w.die);

		if (tag == DW_TAG_subprogram)
			add_die_ranges(l, into, &w.die);
		if (may_have_functions(tag))
			walk_into(&w);
		else
			walk_over(&w);
	}
	/* The time may end within the last entry. */
	into->why =
		w.why || !cpu_budget_is_spent(&l->budget) ? w.why : cpu_budget_reason(&l->budget);
	sort_die_ranges(into);
}

static const struct die_ranges *functions_of(struct lines *l, Dwarf_Die *unit)
{
	bool is_new;
	const Dwarf_Off at = dwarf_dieoffset(unit);
	const uint32_t i = *u64_map_put(&l->numbers, at, (uint32_t)l->n_read, &is_new);
	struct die_ranges functions = {};

	if (is_new) {
		read_unit(l, &functions, unit);
		array_push(l->functions, l->n_read, l->capacity, functions);
	}
	return &l->functions[i];
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

/* Search the entries of a level for one that has @vaddr, then that one's children, and so on. Adds
 * the inlined functions to the *@n of @ret. */
static void find_inner(struct walk *w, uint64_t vaddr, Dwarf_Die ret[MOST_SCOPES], size_t *n)
{
	size_t depth = 1;

	while (!is_walk_over(w) && w->depth >= depth) {
		const int tag = dwarf_tag(&w->die);

		if (!is_scope(tag) || !has_address(w, vaddr)) {
			if (w->depth)
				walk_over(w);
			continue;
		}
		if (*n == MOST_SCOPES) {
			stop_walk(w, "more calls are inlined into one another than in any program");
			return;
		}
		if (tag == DW_TAG_inlined_subroutine)
			ret[(*n)++] = w->die;
		walk_into(w);
		depth++;
	}
}

/*
 * Set the *@n of @ret to the function at @vaddr, and the inlined ones, each within the one before.
 * None if @unit has no function there. Returns NULL, or the reason why the answer is not known.
 */
static const char *scopes_at(struct lines *l, Dwarf_Die *unit, uint64_t vaddr,
			     Dwarf_Die ret[MOST_SCOPES], size_t *n)
{
	const struct die_ranges *of = functions_of(l, unit);
	const struct die_range *f = find_die_range(of, vaddr);
	struct walk w;

	*n = 0;
	if (!f || !dwarf_offdie(l->dwarf, f->die, &ret[0]))
		return of->why;
	*n = 1;
	w = walk_begin(l, &ret[0]);
	find_inner(&w, vaddr, ret, n);
	return w.why;
}

/* --- lines --- */

/* The bytes of one unit, at most. libdw runs a hole in a file as a line program of as many
 * instructions as it has pairs of bytes. */
#define MOST_LINE_BYTES (64U << 20)

void lines_free(struct lines *l)
{
	if (!l)
		return;
	(void)dwarf_end(l->dwarf);
	(void)elf_end(l->elf);
	free(l->units.list);
	for (size_t i = 0; i < l->n_read; i++)
		free(l->functions[i].list);
	free(l->functions);
	u64_map_fini(&l->numbers);
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

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/*
 * Find .debug_line. Is a section still packed by zstd? libelf unpacks what it can. It knows zstd
 * since elfutils 0.189, if it was built with that.
 */
static bool find_programs(struct lines *l)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Chdr packed;
	size_t names;
	bool is_packed = false;
	const bool has_names = elf_getshdrstrndx(l->elf, &names) == 0;

	while ((section = elf_nextscn(l->elf, section))) {
		const char *name = has_names && gelf_getshdr(section, &header)
					   ? elf_strptr(l->elf, names, header.sh_name)
					   : NULL;

		if (!l->programs && name && is_debug_section(name, "line"))
			l->programs = elf_getdata(section, NULL);
		is_packed |= gelf_getchdr(section, &packed) && packed.ch_type == ELFCOMPRESS_ZSTD;
	}
	return is_packed;
}

/* Put a copy of the pages in their place. */
static bool make_pages_writable(const struct image *im, uint64_t offset, uint64_t n)
{
	cleanup_free char *copy = NULL;
	char *at;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t from = offset / page * page;

	if (offset > im->size || n > im->size - offset)
		return false;
	n = (offset + n + page - 1) / page * page - from;
	if (n > im->size - from)
		n = im->size - from;
	copy = xmalloc(n);
	at = (char *)im->memory + from;
	memcpy(copy, at, n);
	if (mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		return false;
	memcpy(at, copy, n);
	return true;
}

/*
 * Replace the header pages of a mapped file by a copy that is writable. Only these, because all of
 * a large file would count as data (RLIMIT_DATA). False: they stay read-only.
 */
static bool unlock_headers(const struct image *im)
{
	const Elf64_Ehdr *wide = im->memory;
	const Elf32_Ehdr *narrow = im->memory;
	/* A file with more sections than e_shnum can hold has 0 there, and the number in section 0.
	 * libelf has checked that the table is in the file. */
	const uint64_t n_bytes = im->is_64_bit ? wide->e_shnum * sizeof(Elf64_Shdr)
					       : narrow->e_shnum * sizeof(Elf32_Shdr);
	const uint64_t at = im->is_64_bit ? wide->e_shoff : narrow->e_shoff;

	return make_pages_writable(im, 0, im->is_64_bit ? sizeof(*wide) : sizeof(*narrow)) &&
	       (n_bytes ? make_pages_writable(im, at, n_bytes)
			: !at || make_pages_writable(im, at, im->size - at));
}

/* Open the DWARF of @im's debug file, or else of @im itself. */
static struct lines *open_lines(const struct image *im)
{
	struct lines *l = xcalloc(1, sizeof(*l));
	const struct image *of = im->debug && has_dwarf(im->debug) ? im->debug : im;

	if (!has_dwarf(of) || elf_version(EV_CURRENT) == EV_NONE)
		return l;
	/* libelf writes to the headers when it unpacks a section. These pages become our copy. */
	if (of->is_mapped && !unlock_headers(of))
		return l;
	l->name = of->name;
	l->elf = elf_memory(of->memory, of->size);
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	l->budget.left_ns = MOST_NS;
	cpu_budget_resume(&l->budget);

	const char *why = l->dwarf ? read_units(l) : dwarf_errmsg(-1);

	cpu_budget_pause(&l->budget);
	sort_die_ranges(&l->units);
	if (l->elf && find_programs(l))
		why = "packed by zstd, which this libelf lacks";
	if (why)
		log_warn_once("%s: cannot read all of .debug_info: %s", l->name, why);
	return l;
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

static size_t calls_at(struct lines *l, uint64_t vaddr, struct image_call *to, size_t most)
{
	const struct die_range *unit = find_die_range(&l->units, vaddr);
	Dwarf_Die die, scopes[MOST_SCOPES];
	const char *why;
	size_t n_scopes;

	if (!most || !unit || !dwarf_offdie(l->dwarf, unit->die, &die))
		return 0;
	why = scopes_at(l, &die, vaddr, scopes, &n_scopes);
	if (why) {
		log_warn_once("%s: no source lines for one unit: %s", l->name, why);
		return 0;
	}

	Dwarf_Die *lines = may_read_lines(l, &die) ? &die : NULL;
	struct image_call call = line_of_address(lines, vaddr);
	size_t n = 0;

	for (size_t i = n_scopes; i-- > 1 && n + 1 < most;) {
		call.name = name_of_die(&scopes[i]);
		if (call.name)
			to[n++] = call;
		call = inlined_call_of(lines, &scopes[i]);
	}
	if (n == 0 && !call.file)
		return 0;
	to[n++] = call;
	return n;
}

size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most)
{
	size_t n;

	if (!im->lines)
		im->lines = open_lines(im);
	cpu_budget_resume(&im->lines->budget);
	n = calls_at(im->lines, vaddr, to, most);
	cpu_budget_pause(&im->lines->budget);
	return n;
}
