/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/raw_rows.h - rows as they come from the kernel. Their stacks are hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

struct raw_row {
	struct stack_key key;
	uint64_t count;
	int64_t sum;
	uint64_t first;
};

/* Begin with { .object, .budget, .n_cpus }, both lent; n_cpus counts possible CPUs. */
struct raw_rows {
	const struct object *object;
	const struct store_budget *budget;
	uint32_t n_cpus;
	struct raw_row *list;
	size_t n, capacity;
	unsigned generation; /* the one that is read */
	uint64_t now;        /* ns of CLOCK_MONOTONIC, when the reading began */
};

/* Free the memory of the list. */
void raw_rows_fini(struct raw_rows *r);

/*
 * Move all rows of @generation, which no program uses, behind those of the list. With @is_last the
 * kernel's copies stay, because nobody needs their room. Errors: from the system calls.
 */
must_check int raw_rows_take(struct raw_rows *r, unsigned generation, bool is_last,
			     struct error *e);
