/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/kernel_table.h - a compact table of the kernel's code, in the form that programs read
 * (bpf/kernel_tables.h). Pure: its rows come from the kernel's tables, by arch/arch.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_tables.h"
#include "unwind/compact.h"

#define MOST_REPLACED 3

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

/* The rule for @addr, the look-up's address; 0: none. */
uint64_t kernel_table_find(const struct kernel_table *t, uint64_t addr);

/*
 * The size of the image that programs get, and the image. @to has that size and an alignment of 8
 * bytes; *@ret says where its parts are.
 */
size_t kernel_table_bytes(const struct kernel_table *t);
void kernel_table_write(const struct kernel_table *t, void *to, struct kernel_image *ret);
