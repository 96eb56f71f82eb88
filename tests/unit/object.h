/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/object.h - object.c stands in for attach/object.c: maps without programs, which tests
 * fill. */
#pragma once

#include "test.h"

#include <bpf/bpf.h>

#include "attach/object.h"

#define N_CPUS 3

struct object {
	struct trace_state state;
	int counts[2][LEVELS], stacks[STACK_LEVELS];
	struct object_maps maps;
	uint64_t recursion_misses;
	int n_waits;
	int n_asked[LEVELS]; /* for counts of that level */
	void (*on_wait)(struct object *);
};

static inline int make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size,
			   uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0);
	int fd = bpf_map_create(type, "test", key_size, value_size, n, &opts);

	assert_true(fd >= 0);
	return fd;
}
