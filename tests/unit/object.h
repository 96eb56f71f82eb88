/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/object.h - stands in for bpf/object.c: maps without programs, which the tests fill. */
#pragma once

#include "test.h"

#include <bpf/bpf.h>

#include "bpf/object.h"

#define N_CPUS 3

struct object {
	struct trace_state state;
	int counts[2][LEVELS], stacks[STACK_LEVELS], lost, begun;
	uint64_t *hot, *calls, recursion_misses;
	struct event_ring *rings;
	const struct stream_event *events;
	int n_waits;
	int n_asked[LEVELS]; /* for counts of that level */
	void (*on_wait)(struct object *);
};

struct trace_state *object_state(const struct object *o)
{
	return (struct trace_state *)&o->state;
}

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
{
	((struct object *)o)->n_asked[level]++;
	return o->counts[generation][level];
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	return o->stacks[level];
}

uint64_t *object_hot(const struct object *o)
{
	return o->hot;
}

int object_lost_fd(const struct object *o)
{
	return o->lost;
}

int object_begun_fd(const struct object *o)
{
	return o->begun;
}

int object_wake_fd(const struct object *o)
{
	return -1;
}

const uint64_t *object_calls(const struct object *o)
{
	return o->calls;
}

struct event_ring *object_rings(const struct object *o)
{
	return o->rings;
}

const struct stream_event *object_events(const struct object *o)
{
	return o->events;
}

uint64_t object_recursion_misses(const struct object *o)
{
	return o->recursion_misses;
}

int object_wait_for_programs(const struct object *o, struct error *e)
{
	((struct object *)o)->n_waits++;
	if (o->on_wait)
		o->on_wait((struct object *)o);
	return 0;
}

static inline int make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size,
			   uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0);
	int fd = bpf_map_create(type, "test", key_size, value_size, n, &opts);

	assert_true(fd >= 0);
	return fd;
}
