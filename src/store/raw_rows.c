// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/raw_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/saturated.h"
#include "store/batch.h"

void raw_rows_fini(struct raw_rows *r)
{
	free(r->list);
	r->list = NULL;
	r->n = r->capacity = 0;
}

/* Add a hot row's counters on all CPUs. Nothing if @hot is 0: the row is not hot. */
static void add_hot_counters(const struct raw_rows *r, uint32_t hot, struct raw_row *to)
{
	const uint64_t *counters = object_hot(r->object);

	for (uint32_t cpu = 0; cpu < r->n_cpus && hot; cpu++) {
		const uint32_t i = hot_index(cpu, r->generation, hot, r->budget->n_hot_rows);
		const uint64_t *counter = &counters[(size_t)i * HOT_WORDS(r->budget->has_sum)];

		to->count += counter[0];
		if (r->budget->has_sum)
			to->sum = add_wrapped(to->sum, (int64_t)counter[1]);
	}
}

/*
 * The kernel keeps the low bits of the time. Returns the latest time before now that ends in them.
 */
static uint64_t first_hit(const struct raw_rows *r, const struct stack_row *row)
{
	const uint64_t first = (uint64_t)row->first_high << 32 | row->first_low;

	return r->now - ((r->now - first) & ROW_TIME_MASK);
}

static bool add_raw_rows(void *context, int fd, struct batch *b, uint32_t n)
{
	struct raw_rows *r = context;
	const struct stack_key *keys = b->keys;
	const char *rows = b->values;

	(void)fd;
	for (uint32_t i = 0; i < n; i++) {
		const struct stack_row *from = (const void *)(rows + i * b->value_size);
		struct raw_row row = { .key = keys[i],
				       .count = from->count,
				       .first = first_hit(r, from) };

		if (r->budget->has_sum)
			row.sum = ((const struct summed_row *)from)->sum;
		add_hot_counters(r, from->hot, &row);
		array_push(r->list, r->n, r->capacity, row);
	}
	return true;
}

static void clear_counters(const struct raw_rows *r, unsigned g)
{
	struct trace_state *state = object_state(r->object);
	const uint64_t asked = state->n_hot[g];
	const size_t n_words = HOT_WORDS(r->budget->has_sum);
	uint32_t n = asked < r->budget->n_hot_rows ? asked : r->budget->n_hot_rows;
	uint64_t *counters = object_hot(r->object);

	for (uint32_t cpu = 0; cpu < r->n_cpus && n; cpu++)
		memset(&counters[(size_t)hot_index(cpu, g, 1, r->budget->n_hot_rows) * n_words], 0,
		       n * n_words * sizeof(*counters));
	state->n_hot[g] = 0;
}

/*
 * Reads no level behind the last row. While the kernel looks for an element, it runs no program on
 * that CPU, even if another task preempts us. The empty second level takes it 1.5 ms.
 */
int raw_rows_take(struct raw_rows *r, unsigned generation, bool is_last, struct error *e)
{
	cleanup(batch_fini) struct batch rows = { .key_size = sizeof(struct stack_key),
						  .value_size =
							  r->budget->has_sum
								  ? sizeof(struct summed_row)
								  : sizeof(struct stack_row) };
	const struct batch_walk walk = { is_last ? bpf_map_lookup_batch
						 : bpf_map_lookup_and_delete_batch,
					 add_raw_rows, r };
	__u64 *n_rows = &object_state(r->object)->n_rows[generation];
	const size_t n_before = r->n;
	int err = 0;

	r->generation = generation;
	r->now = clock_ns(CLOCK_MONOTONIC);
	for (unsigned level = 0; level < LEVELS && r->n - n_before < *n_rows && !err; level++)
		err = batch_each(object_counts_fd(r->object, generation, level), &rows, &walk, e);
	clear_counters(r, generation);
	if (!err)
		*n_rows = 0;
	return err;
}
