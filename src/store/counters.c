// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/counters.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

const char *loss_text(unsigned loss)
{
	static const char *const texts[LOSS_N] = {
		[LOST_NO_SCRATCH] = "nested too deep on one CPU",
		[LOST_STACKS_FULL] = "no room in the kernel for a new stack (see --max-memory)",
		[LOST_COUNTS_FULL] = "no room in the kernel for a new row (see --max-memory)",
		[LOST_NO_MEMORY] = "the kernel had no memory at hand",
		[LOST_NOT_FOLLOWED] = "new tasks of the command that could not be followed",
		[LOST_RING_FULL] = "came faster than they could be printed",
		[LOST_IN_PAUSE] = "came while old stacks were forgotten (see --max-memory)",
		[LOST_AT_REST] = "while the CPU rested from tracing",
		[LOST_IN_USE] = "came in an NMI while their row was being changed",
		[LOST_NO_VALUE] = "their value cannot be read, or is not known there",
		[LOST_BEGUN_FULL] = "no room for a beginning (see --max-memory)",
		[LOSS_BUDGET] = "new stacks beyond --max-memory",
		[LOSS_UNPRINTED] = "not printed before a signal ended the run",
		[LOSS_RECURSION] = "another BPF program was running on the CPU",
		[LOSS_MISSED] = "missed by the kernel at the probe",
		[LOSS_SKIPPED] =
			("samples that the kernel left out (a BPF program was running on the "
			 "CPU, or the timer came late)"),
		[LOSS_SLOWED] = "samples left out to hold the share of a CPU that they take",
		[LOSS_UNFINISHED] = (NOT_PAIRED "unfinished"),
		[LOSS_ENDED_ALONE] = (NOT_PAIRED "ended without a beginning"),
	};

	return texts[loss];
}

/* The sum over all CPUs. */
uint64_t losses_counter(const struct object *object, uint32_t n_cpus, __u32 counter)
{
	cleanup_free uint64_t *values = xcalloc(n_cpus, sizeof(*values));
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(object_maps(object)->lost_fd, &counter, values))
		return 0;
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
		sum += values[cpu];
	return sum;
}

void losses_read(struct losses *l, uint64_t ret[LOSS_N])
{
	for (__u32 reason = 0; reason < LOST_IN_KERNEL; reason++)
		l->now[reason] = losses_counter(l->object, l->n_cpus, reason);
	l->now[LOSS_BUDGET] = l->n_over_budget;
	l->now[LOSS_MISSED] = l->n_missed;
	l->now[LOSS_SKIPPED] = l->n_skipped;
	l->now[LOSS_SLOWED] = l->n_slowed;
	l->now[LOSS_RECURSION] = object_recursion_misses(l->object);
	l->now[LOSS_UNFINISHED] = losses_counter(l->object, l->n_cpus, UNFINISHED) + l->n_open;
	l->now[LOSS_ENDED_ALONE] = losses_counter(l->object, l->n_cpus, ENDED_ALONE);
	for (int i = 0; i < LOSS_N; i++)
		ret[i] = l->now[i] - l->before[i];
}

void losses_reported(struct losses *l)
{
	memcpy(l->before, l->now, sizeof(l->now));
}

/* --- the hits of each target --- */

struct calls {
	size_t n_targets;
	uint64_t *before; /* of each target: all its hits up to the last reading */
	uint64_t *since;  /* those since the reading before it */
	struct losses losses;
};

uint64_t calls_bytes(size_t n_targets, uint32_t n_cpus)
{
	const struct calls *c = NULL;
	const uint64_t kernel = (uint64_t)n_cpus * calls_per_cpu((uint32_t)n_targets);

	return sizeof(uint64_t) * kernel + n_targets * (sizeof(*c->before) + sizeof(*c->since));
}

struct calls *calls_new(const struct object *object, size_t n_targets, uint32_t n_cpus)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->n_targets = n_targets;
	c->before = xcalloc(n_targets + 1, sizeof(*c->before));
	c->since = xcalloc(n_targets + 1, sizeof(*c->since));
	c->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	free(c->before);
	free(c->since);
	free(c);
}

void calls_start(struct calls *c)
{
	__atomic_store_n(&object_state(c->losses.object)->turn, FIRST_TURN, __ATOMIC_RELEASE);
}

int calls_stop(struct calls *c, struct error *e)
{
	__atomic_store_n(&object_state(c->losses.object)->turn, TURN_OFF, __ATOMIC_RELEASE);
	return object_wait_for_programs(c->losses.object, e);
}

/* Adds up one CPU after the other, because a CPU's counters are contiguous. */
const uint64_t *calls_read(struct calls *c)
{
	const uint64_t *counters = object_maps(c->losses.object)->calls;
	const uint32_t per_cpu = calls_per_cpu((uint32_t)c->n_targets);

	for (size_t i = 0; i < c->n_targets; i++)
		c->since[i] = -c->before[i];
	for (uint32_t cpu = 0; cpu < c->losses.n_cpus; cpu++) {
		const uint64_t *own = &counters[call_index(cpu, 0, per_cpu)];

		for (size_t i = 0; i < c->n_targets; i++)
			c->since[i] += __atomic_load_n(&own[i], __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i < c->n_targets; i++)
		c->before[i] += c->since[i];
	return c->since;
}

struct losses *calls_losses(struct calls *c)
{
	return &c->losses;
}
