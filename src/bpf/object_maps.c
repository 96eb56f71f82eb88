// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/object_maps.h"

#include "bpf/deferred.h"
#include "bpf/tables.h"
#include "stackcount.skel.h"

/*
 * Entries in the first level of the maps. The first level must last until the second one exists (10
 * ms). Its buckets cost 0.4 ms for each map.
 */
#define FIRST_ROWS 32768
#define FIRST_CHUNKS 65536

static void allocate_on_demand(struct bpf_map *map, const struct features *features)
{
	if (features->on_demand_maps)
		(void)bpf_map__set_map_flags(map, BPF_F_NO_PREALLOC);
}

static void size_map(struct bpf_map *map, uint32_t n, const struct features *features)
{
	(void)bpf_map__set_max_entries(map, n ? n : 1);
	if (n > 1)
		allocate_on_demand(map, features);
}

static void size_array(struct bpf_map *map, uint32_t n)
{
	(void)bpf_map__set_max_entries(map, n ? n : 1);
}

/* Only maps without pre-allocation need spare pieces. */
static bool wants_spare(const struct object_options *options, const struct features *features)
{
	return features->on_demand_maps && options->config.anywhere && options->max_chunks > 1;
}

/* Rows with sums and events with values are larger. */
static void size_rows(struct stackcount_bpf *s, bool has_sum)
{
	const uint32_t bytes = has_sum ? sizeof(struct summed_row) : sizeof(struct stack_row);

	(void)bpf_map__set_value_size(s->maps.counts0, bytes);
	(void)bpf_map__set_value_size(s->maps.counts1, bytes);
	(void)bpf_map__set_value_size(s->maps.hot, HOT_WORDS(has_sum) * sizeof(uint64_t));
	if (has_sum)
		(void)bpf_map__set_value_size(s->maps.events, sizeof(struct valued_event));
}

void object_maps_size(struct stackcount_bpf *s, struct levels *levels,
		      const struct object_options *options, const struct features *features)
{
	const uint32_t most_rows = options->max_rows, most_chunks = options->max_chunks;
	const uint32_t rows = most_rows < FIRST_ROWS ? most_rows : FIRST_ROWS;
	const uint32_t chunks = most_chunks < FIRST_CHUNKS ? most_chunks : FIRST_CHUNKS;

	levels->maps[LEVEL_STACKS].n = options->max_chunks - chunks;
	levels->maps[LEVEL_COUNTS0].n = levels->maps[LEVEL_COUNTS1].n = options->max_rows - rows;
	size_map(s->maps.counts0, rows, features);
	size_map(s->maps.counts1, rows, features);
	size_map(s->maps.stacks, chunks, features);
	size_array(s->maps.spare, wants_spare(options, features) ? SPARE_CHUNKS : 1);
	size_rows(s, options->config.has_sum);
	size_array(s->maps.begun, options->max_begun);
	size_array(s->maps.hot, 2 * options->n_cpus * options->config.n_hot_rows);
	size_array(s->maps.calls, options->n_cpus * options->config.calls_per_cpu);
	if (options->config.mode == MODE_CALLS)
		size_array(s->maps.scratch, 1);
	(void)bpf_map__set_max_entries(s->maps.rings, options->n_cpus);
	(void)bpf_map__set_max_entries(s->maps.events,
				       options->config.ring_events * options->n_cpus + 1);
	size_map(s->maps.tgids, options->max_tgids, features);
	(void)bpf_map__set_max_entries(s->maps.lives, options->config.has_lives ? LIVES : 1);
	size_map(s->maps.tasks, options->config.follow ? 65536 : 0, features);
	size_map(s->maps.spaces, options->config.unwind ? MOST_SPACES : 0, features);
	size_map(s->maps.files, options->config.asks_kernel ? MOST_FILES : 0, features);
	size_array(s->maps.faulted, options->programs & 1U << PROGRAM_FAULT ? FAULTED_LISTS : 1);
	size_array(s->maps.slab0, options->config.unwind ? SLAB_CHUNKS : 1);
	size_array(s->maps.deferred, options->config.unwind ? DEFERRED_PIECES : 1);
	size_array(s->maps.recent_rules, options->config.unwind ? RECENT_SETS : 1);
}
