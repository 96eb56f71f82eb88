/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/table.h - read a file's call frame information (CFI) as rows, and pack these into an
 * unwind table for the BPF programs: 4 bytes for each row, and each distinct rule once.
 * bpf/user_step.h defines the structs.
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

#include "arch/arch.h"
#include "base/error.h"
#include "base/hash.h"
#include "bpf/kernel_tables.h"
#include "bpf/user_step.h"

struct go_table;
struct image;

/* --- rows --- */

/*
 * .eh_frame is a list of entries; .debug_frame has those that .eh_frame leaves out. An FDE covers
 * the code of a function. It is a program that changes a state as the address advances, and each
 * state is a row: how to find the caller's registers from there on. Four registers matter here:
 * the stack pointer, the frame pointer, the architecture's third, and the return address. The CFA
 * is the value of the stack pointer before the call.
 */

/* A non-zero result ends the reading, which returns it. */
typedef int cfi_visit(void *context, const struct cfi_row *row);

/*
 * Call @visit for each row, by strictly ascending vaddr. The last one is a gap. If entries overlap,
 * the one that begins later holds from there on. Of entries with equal start, the file's first one
 * holds. Time and memory are in proportion to the section's size, even for hostile files.
 *
 * @go is the table of a Go program, else NULL or without functions. Code that it covers gets no
 * derived rows.
 *
 * Errors: -ENOENT   the file has no CFI, and we found no rows otherwise
 *         -ENOEXEC  it is not for this machine's 64-bit code
 */
must_check int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit,
			    void *context, struct error *e);

/* --- a file's table --- */

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
 * Code without rows has UNWIND_NO_ROW, except large gaps of programs with V8. These have
 * UNWIND_FRAME_POINTERS.
 *
 * Errors: those of cfi_each_row()
 *         -ENOENT  it is a Go program whose own table (unwind/table.c) we cannot use
 *         -E2BIG   the table would be larger
 * After an error *@ret is empty.
 */
must_check int unwind_table_make(struct image *im, size_t max_bytes, struct unwind_table *ret,
				 struct error *e);
void unwind_table_fini(struct unwind_table *t);

/* The bytes that the table takes in the kernel. */
size_t unwind_table_bytes(const struct unwind_table *t);

/* --- the kernel's --- */

/*
 * A compact table of the kernel's code, in the form that programs read (bpf/kernel_tables.h). Pure:
 * its rows come from the kernel's tables, by arch/arch.h.
 */

#define MOST_REPLACED 3

/* A table in the making, of rules of 8 bytes, whatever these mean. */
struct table_maker {
	struct unwind_table table;
	size_t pages_capacity, entries_capacity, rules_capacity;
	struct u64_map numbers; /* of rules */
	uint64_t seed; /* random for a file, so that nobody can make one with keys that collide */
	uint64_t last_rule;
	uint16_t last_number;
};

struct kernel_table {
	uint64_t start, end; /* of the code that it covers */
	struct table_maker made;
	uint64_t replaced[MOST_REPLACED]; /* addresses to look up, sorted */
	size_t n_replaced, n_marked;
	uint64_t at, rule; /* the last row */
	uint64_t put_at;   /* the last entry's address */
};

/* Begin a table for code at [@start, @end). False: it is too large, or empty. */
bool kernel_table_begin(struct kernel_table *t, uint64_t start, uint64_t end);

/*
 * The return address @addr is one that the kernel's tracing puts in place of another. Before any
 * row, at most MOST_REPLACED times.
 */
void kernel_table_replaced(struct kernel_table *t, uint64_t addr);

/*
 * From @addr on, @rule is valid. By rising addresses; of several for one address, the last one
 * counts. False: it is out of order, or there are too many rules.
 */
bool kernel_table_add(struct kernel_table *t, uint64_t addr, uint64_t rule);

/* All rows have been added. */
bool kernel_table_end(struct kernel_table *t);

void kernel_table_fini(struct kernel_table *t);

/*
 * The size of the image that programs get, and the image. @to has that size and an alignment of 8
 * bytes; *@ret says where its parts are.
 */
size_t kernel_table_bytes(const struct kernel_table *t);
void kernel_table_write(const struct kernel_table *t, void *to, struct kernel_image *ret);
