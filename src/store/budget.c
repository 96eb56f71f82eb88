// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The shares of --max-memory. */
#include "store/store.h"

/*
 * Memory in the kernel. An element of a hash map takes 48 bytes + key + value, and 8 more while it
 * is free. It comes from slabs of 96, 128, 192 bytes and more. A map has a bucket of 16 bytes for
 * each entry that it may ever have. A stack takes one or two pieces. A new row rarely has two new
 * stacks.
 */
#define ROW_BYTES 96ULL
#define SUMMED_ROW_BYTES 128ULL
#define CHUNK_BYTES 192ULL
#define BUCKET_BYTES 16ULL
#define CHUNKS_PER_ROW 2ULL
#define FEWEST_ROWS 64

_Static_assert(48 + sizeof(struct stack_key) + sizeof(struct stack_row) + 8 <= ROW_BYTES, "slab");
_Static_assert(48 + sizeof(struct stack_key) + sizeof(struct summed_row) + 8 <= SUMMED_ROW_BYTES,
	       "slab");
_Static_assert(48 + sizeof(uint64_t) + sizeof(struct stack_chunk) + 8 <= CHUNK_BYTES, "slab");

/* For @rows rows in each generation. */
static uint64_t kernel_bytes(uint64_t rows, bool has_sum)
{
	return 2 * rows * ((has_sum ? SUMMED_ROW_BYTES : ROW_BYTES) + BUCKET_BYTES) +
	       CHUNKS_PER_ROW * rows * (CHUNK_BYTES + BUCKET_BYTES);
}

void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret)
{
	const uint64_t row_of_counters = 2 * sizeof(uint64_t) * HOT_WORDS(ret->has_sum) * n_cpus;
	uint64_t rows = FEWEST_ROWS, hot = 1;

	while (rows < 1U << 30 && kernel_bytes(2 * rows, ret->has_sum) <= max_bytes / 8 * 5)
		rows *= 2;
	while (hot < MOST_HOT_ROWS && 2 * hot * row_of_counters <= max_bytes / 32)
		hot *= 2;

	uint64_t kernel = kernel_bytes(rows, ret->has_sum) + hot * row_of_counters;

	ret->max_rows = (uint32_t)rows;
	ret->n_hot_rows = (uint32_t)hot;
	ret->max_chunks = (uint32_t)(CHUNKS_PER_ROW * rows);
	ret->user_bytes = max_bytes > kernel ? max_bytes - kernel : 0;
}
