// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/row_setup.h"

/*
 * If the kernel allocates maps as a whole (before Linux 6.1), the second level comes at this many
 * rows.
 */
#define EARLY_ROWS 8192

void row_setup(uint64_t bytes, const struct features *features, struct store_budget *budget,
	       struct object_options *o)
{
	struct trace_config *config = &o->config;

	store_divide(bytes, o->n_cpus, budget);
	o->max_rows = budget->max_rows;
	o->max_chunks = budget->max_chunks;
	config->has_sum = budget->has_sum;
	config->n_hot_rows = budget->n_hot_rows;
	config->rows_to_notice = budget->max_rows / 8;
	if (!features->on_demand_maps && config->rows_to_notice > EARLY_ROWS)
		config->rows_to_notice = EARLY_ROWS;
	config->max_chunks = budget->max_chunks;
	config->chunks_to_notice = budget->max_chunks / 2;
}
