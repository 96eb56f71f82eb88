// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct calls {
	const struct object *object;
	size_t n_targets;
	uint32_t n_cpus;
	uint64_t *now;    /* of each target: all its hits up to the last reading */
	uint64_t *before; /* up to the last calls_clear() */
	uint64_t *since;  /* their difference */
	struct losses losses;
};

uint64_t calls_bytes(size_t n_targets, uint32_t n_cpus)
{
	const struct calls *c = NULL;
	const uint64_t kernel = (uint64_t)n_cpus * calls_per_cpu((uint32_t)n_targets);

	return sizeof(uint64_t) * kernel +
	       n_targets * (sizeof(*c->now) + sizeof(*c->before) + sizeof(*c->since));
}

struct calls *calls_new(const struct object *object, size_t n_targets, uint32_t n_cpus)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->object = object;
	c->n_targets = n_targets;
	c->n_cpus = n_cpus;
	c->now = xcalloc(n_targets + 1, sizeof(*c->now));
	c->before = xcalloc(n_targets + 1, sizeof(*c->before));
	c->since = xcalloc(n_targets + 1, sizeof(*c->since));
	c->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	free(c->now);
	free(c->before);
	free(c->since);
	free(c);
}

void calls_start(struct calls *c)
{
	__atomic_store_n(&object_state(c->object)->turn, FIRST_TURN, __ATOMIC_RELEASE);
}

int calls_stop(struct calls *c, struct error *e)
{
	__atomic_store_n(&object_state(c->object)->turn, TURN_OFF, __ATOMIC_RELEASE);
	return object_wait_for_programs(c->object, e);
}

/* Adds up one CPU after the other, because a CPU's counters are contiguous. */
const uint64_t *calls_read(struct calls *c)
{
	const uint64_t *counters = object_calls(c->object);
	const uint32_t per_cpu = calls_per_cpu((uint32_t)c->n_targets);

	memset(c->now, 0, c->n_targets * sizeof(*c->now));
	for (uint32_t cpu = 0; cpu < c->n_cpus; cpu++) {
		const uint64_t *own = &counters[call_index(cpu, 0, per_cpu)];

		for (size_t i = 0; i < c->n_targets; i++)
			c->now[i] += __atomic_load_n(&own[i], __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i < c->n_targets; i++)
		c->since[i] = c->now[i] - c->before[i];
	return c->since;
}

void calls_clear(struct calls *c)
{
	memcpy(c->before, c->now, c->n_targets * sizeof(*c->now));
	losses_reported(&c->losses);
}

struct losses *calls_losses(struct calls *c)
{
	return &c->losses;
}
