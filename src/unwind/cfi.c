// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Read the entries of .eh_frame and .debug_frame (elf/frames.h) and run their programs (program.c).
 * A program may have both: with -fno-asynchronous-unwind-tables -g, its own code is in
 * .debug_frame, and linked code of the C library in .eh_frame.
 */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/frames.h"
#include "unwind/derive.h"
#include "unwind/program.h"

#define MAX_ENTRIES (1U << 22) /* libLLVM has 98,256 */
#define MAX_CIES (1U << 18)
#define MAX_RANGES 16

/* A CIE, for reading its FDEs. */
struct common {
	size_t offset; /* in its section */
	struct cie is;
	struct cfi_cie cie;
	bool is_bad; /* we cannot read its FDEs */
};

struct reader {
	struct image *im;
	struct fde_section section;
	bool is_any; /* the file has one of the two sections */
	struct common *cies;
	size_t n_cies, cies_capacity;
	size_t first_cie; /* the first one of this section, by ascending offset */
	struct cfi_fde *fdes;
	size_t n_fdes, fdes_capacity;
	struct code_range code[MAX_RANGES];
	size_t n_code;
	struct derived *derived; /* NULL: none */
};

static void cfi_reader_fini(struct reader *r)
{
	free(r->cies);
	free(r->fdes);
	derived_freep(&r->derived);
}

static bool read_common(const struct reader *r, const struct fde_entry *entry, struct common *ret)
{
	if (!cie_read(&r->section, entry, &ret->is) ||
	    ret->is.return_register != CFI_RETURN_ADDRESS)
		return false;
	ret->cie.code_factor = ret->is.code_factor;
	ret->cie.data_factor = ret->is.data_factor;
	ret->cie.is_signal = ret->is.is_signal;
	return cfi_run_initial(&ret->cie, ret->is.program.at, cursor_left(&ret->is.program));
}

static struct cursor section_cursor(const struct reader *r)
{
	const struct image_section *bytes = &r->section.bytes;

	return (struct cursor){ .at = bytes->data, .end = bytes->data + bytes->size };
}

/*
 * Read all CIEs before any FDE. An FDE may only name a CIE that is an entry itself. Otherwise FDEs
 * could name any number of long CIEs that overlap, and we would run the program of each.
 */
static void collect_cies(struct reader *r)
{
	struct cursor c = section_cursor(r);
	struct fde_entry entry;

	r->first_cie = r->n_cies;
	while (r->n_cies < MAX_CIES && fde_next_entry(&r->section, &c, &entry)) {
		struct common common = { .offset = entry.offset };

		if (!entry.is_cie)
			continue;
		common.is_bad = !read_common(r, &entry, &common);
		array_push(r->cies, r->n_cies, r->cies_capacity, common);
	}
}

/* The number of @entry's CIE, or n_cies if it has none. */
static size_t find_cie(const struct reader *r, const struct fde_entry *entry)
{
	size_t low = r->first_cie, high = r->n_cies;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->cies[middle].offset < entry->cie)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->n_cies && r->cies[low].offset == entry->cie ? low : r->n_cies;
}

/*
 * Cut @fde to the segment where it begins. False: that has no code, or the linker has dropped the
 * function, and left 0 in .debug_frame.
 */
static bool cut_to_code(const struct reader *r, struct cfi_fde *fde)
{
	if (fde->end <= fde->start || !fde->start)
		return false;
	for (size_t i = 0; i < r->n_code; i++) {
		const struct code_range *range = &r->code[i];

		if (fde->start < range->start || fde->start >= range->end)
			continue;
		if (fde->end > range->end)
			fde->end = range->end;
		return true;
	}
	return false;
}

/* Read an FDE. False: it makes no sense. */
static bool read_fde(const struct reader *r, const struct fde_entry *entry, struct cfi_fde *ret)
{
	const size_t number = find_cie(r, entry);
	struct image_frame frame;

	if (number == r->n_cies || r->cies[number].is_bad ||
	    !fde_read(&r->section, entry, &r->cies[number].is, &frame) ||
	    cursor_left(&frame.program) > UINT32_MAX)
		return false;
	*ret = (struct cfi_fde){ frame.start, frame.end, frame.program.at,
				 (uint32_t)cursor_left(&frame.program), (uint32_t)number };
	return true;
}

static int collect_fdes(struct reader *r, struct error *e)
{
	struct cursor c = section_cursor(r);
	struct fde_entry entry;

	while (fde_next_entry(&r->section, &c, &entry)) {
		struct cfi_fde fde;

		if (entry.is_cie)
			continue;
		if (r->n_fdes == MAX_ENTRIES)
			return error_set(e, -E2BIG, "unwind information of more than %u functions",
					 MAX_ENTRIES);
		if (read_fde(r, &entry, &fde) && cut_to_code(r, &fde))
			array_push(r->fdes, r->n_fdes, r->fdes_capacity, fde);
	}
	return 0;
}

/* By address, then .eh_frame's before .debug_frame's. */
static int compare_fdes(const void *left, const void *right)
{
	const struct cfi_fde *a = left;
	const struct cfi_fde *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->cie != b->cie)
		return a->cie < b->cie ? -1 : 1;
	return a->program < b->program ? -1 : a->program > b->program;
}

/* Sort the entries, which may be sorted already. */
static void sort_fdes(struct reader *r)
{
	size_t i = 1;

	while (i < r->n_fdes && compare_fdes(&r->fdes[i - 1], &r->fdes[i]) <= 0)
		i++;
	if (i < r->n_fdes)
		qsort(r->fdes, r->n_fdes, sizeof(*r->fdes), compare_fdes);
}

/* Does any entry cover a part of these stubs? */
static bool have_stubs_entry(const struct reader *r, const struct cfi_stubs *stubs)
{
	for (size_t i = 0; i < r->n_fdes; i++)
		if (r->fdes[i].start < stubs->end && r->fdes[i].end > stubs->start)
			return true;
	return false;
}

static void add_own_cie(struct reader *r, enum cfi_own kind)
{
	const struct common common = { .cie = cfi_own_cie(kind) };

	array_push(r->cies, r->n_cies, r->cies_capacity, common);
}

/* Add an entry for code without one, with the last CIE. False: the file has no code there. */
static bool add_entry_for(struct reader *r, const struct cfi_stubs *place)
{
	struct cfi_fde fde = { place->start, place->end, place->program, place->program_bytes,
			       (uint32_t)r->n_cies - 1 };

	if (!cut_to_code(r, &fde))
		return false;
	array_push(r->fdes, r->n_fdes, r->fdes_capacity, fde);
	return true;
}

static void add_stubs(struct reader *r)
{
	struct cfi_stubs stubs[CFI_MAX_STUBS];
	size_t n = cfi_find_stubs(r->im, stubs);

	add_own_cie(r, CFI_OWN_STUBS);
	for (size_t i = 0; i < n; i++)
		if (!have_stubs_entry(r, &stubs[i]))
			(void)add_entry_for(r, &stubs[i]);
}

/* Is the code of @fde a root, where the walk ends? */
static bool is_cfi_root(const struct reader *r, const struct cfi_fde *fde)
{
	static const uint8_t undefined[] = { 0x07, CFI_RETURN_ADDRESS };

	return r->cies[fde->cie].cie.initial.pc.how == CFI_UNDEFINED ||
	       (fde->program_bytes >= sizeof(undefined) &&
		memcmp(fde->program, undefined, sizeof(undefined)) == 0);
}

static void add_clones(struct reader *r)
{
	const size_t n = r->n_fdes;
	struct cfi_stubs place;

	add_own_cie(r, CFI_OWN_CLONE);
	for (size_t i = 0; i < n; i++)
		if (is_cfi_root(r, &r->fdes[i]) &&
		    cfi_find_clone(r->im, i ? r->fdes[i - 1].end : 0, r->fdes[i].start, &place))
			(void)add_entry_for(r, &place);
}

/* Add entries for roots, clone() and signal returns. Entries are sorted, before and after. Returns
 * the number of roots. */
static size_t add_missing_entries(struct reader *r)
{
	struct cfi_stubs places[CFI_MAX_ROOTS];
	size_t n = cfi_find_roots(r->im, r->fdes, r->n_fdes, places);

	add_own_cie(r, CFI_OWN_ROOT);
	for (size_t i = 0; i < n; i++)
		(void)add_entry_for(r, &places[i]);
	sort_fdes(r);
	add_clones(r);
	sort_fdes(r);
	if (!cfi_find_signal_return(r->im, r->fdes, r->n_fdes, places))
		return n;
	add_own_cie(r, CFI_OWN_SIGNAL);
	(void)add_entry_for(r, places);
	sort_fdes(r);
	return n;
}

#define LEAST_ASSEMBLY_BYTES 4096 /* no compiler makes so long a function with one row */

/* Ends the reading at the second row. */
static int count_to_two(void *context, const struct cfi_row *row)
{
	(void)row;
	return ++*(int *)context == 2;
}

static bool is_one_row(const struct reader *r, const struct cfi_fde *fde, uint64_t end)
{
	int n = 0;

	if (end < fde->start + LEAST_ASSEMBLY_BYTES)
		return false;
	(void)cfi_run(&r->cies[fde->cie].cie, fde, end, count_to_two, &n);
	return n == 1;
}

/* End an entry of hand-written assembly where its row is wrong: see stubs.c. Entries are sorted. */
static void cut_assembly(struct reader *r)
{
	for (size_t i = 0; i < r->n_fdes; i++) {
		struct cfi_fde *fde = &r->fdes[i];
		const bool is_overlap = i + 1 < r->n_fdes && fde[1].start < fde->end;
		const uint64_t end = is_overlap ? fde[1].start : fde->end;
		uint64_t wrong = end;

		if (is_one_row(r, fde, end))
			wrong = cfi_find_trace_exit(r->im, fde->start, end);
		if (wrong < end)
			fde->end = wrong;
	}
}

/* Visit the rows of [@from, @to), which has no entries. */
static int visit_gap(struct reader *r, uint64_t from, uint64_t to, cfi_visit *visit, void *context)
{
	const struct cfi_row gap = { .vaddr = from, .kind = CFI_GAP };

	return r->derived ? derived_rows_between(r->derived, from, to, visit, context)
			  : visit(context, &gap);
}

/* Run the entries in order. Each ends where the next begins. */
static int run_fdes(struct reader *r, cfi_visit *visit, void *context)
{
	const uint64_t first = r->derived ? derived_first(r->derived) : UINT64_MAX;
	const uint64_t first_end = r->n_fdes ? r->fdes[0].start : UINT64_MAX;
	int err = first < first_end ? visit_gap(r, first, first_end, visit, context) : 0;

	for (size_t i = 0, next; i < r->n_fdes && !err; i = next) {
		const struct cfi_fde *fde = &r->fdes[i];
		uint64_t end = fde->end, next_start;

		next = i + 1;
		while (next < r->n_fdes && r->fdes[next].start == fde->start)
			next++;
		next_start = next < r->n_fdes ? r->fdes[next].start : UINT64_MAX;
		if (next_start < end)
			end = next_start;
		err = cfi_run(&r->cies[fde->cie].cie, fde, end, visit, context);
		if (!err && (next == r->n_fdes || next_start != end))
			err = visit_gap(r, end, next_start, visit, context);
	}
	return err;
}

static int collect_section(struct reader *r, bool is_debug, struct error *e)
{
	if (!fde_section_of(r->im, is_debug, &r->section))
		return 0;
	r->is_any = true;
	collect_cies(r);
	return collect_fdes(r, e);
}

int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit, void *context,
		 struct error *e)
{
	cleanup(cfi_reader_fini) struct reader r = { .im = im };
	size_t n_roots;
	int err;

	if (!image_is_64_bit(im) || !image_has_64_bit_code(im))
		return error_set(e, -ENOEXEC, "unwind tables are for 64-bit programs only");
	r.n_code = image_code_ranges(im, r.code, MAX_RANGES);
	err = collect_section(&r, false, e);
	if (!err)
		err = collect_section(&r, true, e);
	if (err)
		return err;
	add_stubs(&r);
	sort_fdes(&r);
	cut_assembly(&r);
	n_roots = add_missing_entries(&r);
	r.derived = derive(im, go, r.fdes, r.n_fdes, r.code, r.n_code);
	if (!r.is_any && !n_roots && !r.derived)
		return error_set(e, -ENOENT, "no unwind information in the file");
	return run_fdes(&r, visit, context);
}
