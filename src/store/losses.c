// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/losses.h"

#include <bpf/bpf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

const char *loss_text(enum loss loss)
{
	static const char *const texts[LOSS_N] = {
		[LOSS_NO_SCRATCH] = "nested too deep on one CPU",
		[LOSS_STACKS_FULL] = "no room in the kernel for a new stack (see --max-memory)",
		[LOSS_COUNTS_FULL] = "no room in the kernel for a new row (see --max-memory)",
		[LOSS_NO_MEMORY] = "the kernel had no memory at hand",
		[LOSS_NOT_FOLLOWED] = "new tasks of the command that could not be followed",
		[LOSS_RING_FULL] = "came faster than they could be printed",
		[LOSS_IN_PAUSE] = "came while old stacks were forgotten (see --max-memory)",
		[LOSS_AT_REST] = "while the CPU rested from tracing",
		[LOSS_IN_USE] = "came in an NMI while their row was being changed",
		[LOSS_NO_VALUE] = "their value cannot be read, or is not known there",
		[LOSS_BEGUN_FULL] = "no room for a beginning (see --max-memory)",
		[LOSS_BUDGET] = "new stacks beyond --max-memory",
		[LOSS_UNPRINTED] = "not printed before a signal ended the run",
		[LOSS_RECURSION] = "another BPF program was running on the CPU",
		[LOSS_MISSED] = "missed by the kernel at the probe",
		[LOSS_SKIPPED] =
			"samples that the kernel left out (a BPF program was running on the "
			"CPU, or the timer came late)",
		[LOSS_SLOWED] = "samples left out to hold the share of a CPU that they take",
		[LOSS_UNFINISHED] = NOT_PAIRED "unfinished",
		[LOSS_ENDED_ALONE] = NOT_PAIRED "ended without a beginning",
	};

	return texts[loss];
}

/* The sum over all CPUs. */
uint64_t losses_counter(const struct object *object, uint32_t n_cpus, __u32 counter)
{
	cleanup_free uint64_t *values = xcalloc(n_cpus, sizeof(*values));
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(object_lost_fd(object), &counter, values))
		return 0;
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
		sum += values[cpu];
	return sum;
}

_Static_assert((int)LOSS_NO_SCRATCH == (int)LOST_NO_SCRATCH,
	       "enum loss begins as enum lost_reason");
_Static_assert((int)LOSS_BUDGET == (int)LOST_IN_KERNEL, "enum loss begins as enum lost_reason");

void losses_read(struct losses *l, uint64_t ret[LOSS_N])
{
	for (__u32 reason = 0; reason < LOST_IN_KERNEL; reason++)
		l->now[reason] = losses_counter(l->object, l->n_cpus, reason);
	l->now[LOSS_BUDGET] = l->n_over_budget;
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
