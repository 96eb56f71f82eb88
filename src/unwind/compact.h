/*
 * unwind/compact.h - an image's rows packed for the kernel: 4 bytes for each, and the distinct
 * rules once.
 *
 *	page     = (vaddr - base) >> 16
 *	entries    pages[page] up to pages[page + 1], by rising low 16 bits of their address
 *	rule       of the last one that does not begin behind vaddr
 *
 * So there is one look-up in @pages, and a binary search among the rows of 64 KiB of code (1,100
 * in libc), of at most UNWIND_PAGE_STEPS. Arrays of any chunks will do for entries, since
 * they are asked for one by one. What the structs mean is said in bpf/walk.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/walk.h"
#include "unwind/cfi.h"

struct image;

struct unwind_counts {
	struct cfi_stats cfi;
	size_t unfit[UNFIT_REASONS]; /* rows without a rule, by reason */
	size_t n_other_registers;    /* rows for innermost frames only: made of other registers */
	size_t n_bx_lost;            /* rows that do not say where rbx is, or not so that it fits */
};

/* A zeroed one is empty. */
struct unwind_table {
	uint64_t base;   /* of page 0 */
	uint32_t *pages; /* n_pages + 1; numbers of entries */
	struct unwind_entry *entries;
	struct unwind_rule *rules;
	uint32_t n_pages;
	uint32_t n_entries; /* number 0 is before all pages, and has rule 0 */
	uint32_t n_rules;   /* number 0 is UNWIND_NO_ROW */
	struct unwind_counts counts;
};

/*
 * Make @im's table, of at most @max_bytes. What there are no rows for is UNWIND_NO_ROW. If a Go
 * program's own table (unwind/go.h) cannot be used, that is UNWIND_FRAME_POINTERS.
 * Errors: those of cfi_each_row(); -E2BIG it would be larger. @ret is then empty.
 */
must_check int unwind_table_make(struct image *im, size_t max_bytes, struct unwind_table *ret,
				 struct error *e);
void unwind_table_fini(struct unwind_table *t);

/* What the table takes in the kernel. */
size_t unwind_table_bytes(const struct unwind_table *t);

/*
 * The rule at @vaddr, as the programs find it. Of a mapped address that is
 * image_offset_to_vaddr() of its own offset in the file: a mapping's first page may begin with
 * the end of another segment (lld), so where the mapping begins does not say by how much it was
 * moved.
 */
struct unwind_rule unwind_table_at(const struct unwind_table *t, uint64_t vaddr);

/* The rule that says what @row does; UNWIND_UNFIT with the reason if none can. */
struct unwind_rule unwind_rule_of(const struct cfi_row *row);

/* In words: "the CFA is not made of one register". */
const char *unwind_unfit_words(enum unwind_unfit reason);
