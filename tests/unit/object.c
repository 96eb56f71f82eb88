// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "object.h"

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

const struct object_maps *object_maps(const struct object *o)
{
	return &o->maps;
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
