/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/compact.h - pack an image's rows into an unwind table for the BPF programs: 4 bytes for
 * each row, and each distinct rule once. bpf/walk.h defines the structs.
 *
 *	page       (vaddr - base) >> 16
 *	entries    pages[page] up to pages[page + 1], by ascending low 16 bits of their address
 *	rule       the rule of the last entry that does not begin after vaddr
 *
 * So a search takes one look-up in @pages, and a binary search among the rows of 64 KiB of code
 * (1,100 in libc) of at most UNWIND_PAGE_STEPS steps. The search reads entries one by one, so they
 * may lie in chunks of any size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "bpf/walk.h"
#include "unwind/cfi.h"

struct image;

/* A zeroed struct is empty. */
struct unwind_table {
	uint64_t base;   /* vaddr of page 0 */
	uint32_t *pages; /* n_pages + 1 numbers of entries */
	struct unwind_entry *entries;
	struct unwind_rule *rules;
	uint32_t n_pages;
	uint32_t n_entries; /* entry 0 is before all pages, and has rule 0 */
	uint32_t n_rules;   /* rule 0 is UNWIND_NO_ROW */
};

/*
 * Make @im's table, of at most @max_bytes. The caller owns *@ret.
 *
 * Code without rows has UNWIND_NO_ROW, with three exceptions. Go programs whose own table
 * (unwind/go.h) we cannot use have UNWIND_FRAME_POINTERS. Large gaps of programs with V8 have it,
 * too. Files without .eh_frame and .debug_frame have UNWIND_MADE_FRAMES.
 *
 * Errors: those of cfi_each_row()
 *         -E2BIG  the table would be larger
 * After an error *@ret is empty.
 */
must_check int unwind_table_make(struct image *im, size_t max_bytes, struct unwind_table *ret,
				 struct error *e);
void unwind_table_fini(struct unwind_table *t);

/* The bytes that the table takes in the kernel. */
size_t unwind_table_bytes(const struct unwind_table *t);

/* --- a table in the making, of rules of 8 bytes, whatever these mean --- */

struct table_maker {
	struct unwind_table table;
	size_t pages_capacity, entries_capacity, rules_capacity;
	struct u64_map numbers; /* of rules */
	uint64_t seed; /* random for a file, so that nobody can make one with keys that collide */
	uint64_t last_rule;
	uint16_t last_number;
};

/* Begin, with entry 0 and rule 0. */
void table_maker_begin(struct table_maker *m);
void table_maker_fini(struct table_maker *m);

/* The number of @rule. False: it is new, and would leave fewer than @spare numbers. */
bool table_maker_number(struct table_maker *m, uint64_t rule, uint32_t spare, uint16_t *ret);

/*
 * Begin all pages up to the one of @vaddr. The first call gives the base. False: @vaddr is too far
 * from it.
 */
bool table_maker_page(struct table_maker *m, uint64_t vaddr);

/* From @vaddr on, whose page has begun, the rule with this number is valid. */
void table_maker_put(struct table_maker *m, uint64_t vaddr, uint16_t number);

/* All entries are put: the table is complete. */
void table_maker_end(struct table_maker *m);

/*
 * The rule at @vaddr, found in the way of the BPF programs. To get the vaddr of a mapped address,
 * use image_offset_to_vaddr() with the address's own file offset. The mapping's start does not give
 * the bias, because its first page may begin with the end of another segment (lld).
 */
struct unwind_rule unwind_table_at(const struct unwind_table *t, uint64_t vaddr);
