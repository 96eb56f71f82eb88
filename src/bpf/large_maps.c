// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/large_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "bpf/parallel_load.h"

#define LARGE 1024 /* entries */

struct making {
	struct bpf_map *const *maps;
	size_t n, next;
};

static void make_map(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(map));
	cleanup_close int fd =
		bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
			       bpf_map__value_size(map), bpf_map__max_entries(map), &opts);

	if (fd >= 0)
		(void)bpf_map__reuse_fd(map, fd);
}

static void *make_maps(void *argument)
{
	struct making *m = argument;
	size_t i;

	while ((i = __atomic_fetch_add(&m->next, 1, __ATOMIC_RELAXED)) < m->n)
		if (bpf_map__max_entries(m->maps[i]) >= LARGE)
			make_map(m->maps[i]);
	return NULL;
}

void large_maps_make(struct bpf_map *const *maps, size_t n)
{
	struct making m = { maps, n, 0 };
	pthread_t other;
	const bool has_other = parallel_load_may_help() && thread_start(&other, make_maps, &m) == 0;

	(void)make_maps(&m);
	if (has_other)
		(void)pthread_join(other, NULL);
}
