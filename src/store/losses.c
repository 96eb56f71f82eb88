// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/losses.h"

#include <bpf/bpf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

const char *loss_text(enum loss loss)
{
	static const char skipped[] = "samples that the kernel left out (a BPF program was running "
				      "on the CPU, or the timer came late)";
	static const char unfinished[] = NOT_PAIRED "unfinished";
	static const char alone[] = NOT_PAIRED "ended without a beginning";
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
		[LOSS_SKIPPED] = skipped,
		[LOSS_SLOWED] = "samples left out to hold the share of a CPU that they take",
		[LOSS_UNFINISHED] = unfinished,
		[LOSS_ENDED_ALONE] = alone,
	};

	return texts[loss];
}

/* The sum over all CPUs. 0 if the kernel refuses to read the map. */
static uint64_t read_kernel_loss(const struct object *object, uint32_t n_cpus, __u32 reason)
{
	cleanup_free uint64_t *values = xcalloc(n_cpus, sizeof(*values));
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(object_lost_fd(object), &reason, values))
		return 0;
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
		sum += values[cpu];
	return sum;
}

static void read_kernel_losses(const struct losses *l, uint64_t sums[LOST_IN_KERNEL])
{
	for (__u32 reason = 0; reason < LOST_IN_KERNEL; reason++)
		sums[reason] = read_kernel_loss(l->object, l->n_cpus, reason);
}

uint64_t losses_own_hits(const struct object *object, uint32_t n_cpus)
{
	return read_kernel_loss(object, n_cpus, OWN_HITS);
}

uint64_t losses_begun(const struct object *object, uint32_t n_cpus)
{
	return read_kernel_loss(object, n_cpus, BEGUN);
}

uint64_t losses_samples(const struct object *object, uint32_t n_cpus)
{
	return read_kernel_loss(object, n_cpus, SAMPLES);
}

_Static_assert((int)LOSS_NO_SCRATCH == (int)LOST_NO_SCRATCH,
	       "enum loss begins as enum lost_reason");
_Static_assert((int)LOSS_BUDGET == (int)LOST_IN_KERNEL, "enum loss begins as enum lost_reason");

void losses_read(struct losses *l, uint64_t ret[LOSS_N])
{
	memset(ret, 0, LOSS_N * sizeof(*ret));
	read_kernel_losses(l, l->kernel_now);
	for (size_t i = 0; i < LOST_IN_KERNEL; i++)
		ret[i] = l->kernel_now[i] - l->kernel_before[i];
	l->recursion_now = object_recursion_misses(l->object);
	ret[LOSS_RECURSION] = l->recursion_now - l->recursion_before;
	ret[LOSS_BUDGET] = l->n_over_budget;
	l->unfinished_now = read_kernel_loss(l->object, l->n_cpus, UNFINISHED) + l->n_open;
	l->alone_now = read_kernel_loss(l->object, l->n_cpus, ENDED_ALONE);
	ret[LOSS_UNFINISHED] = l->unfinished_now - l->unfinished_before;
	ret[LOSS_ENDED_ALONE] = l->alone_now - l->alone_before;
}

void losses_reported(struct losses *l)
{
	memcpy(l->kernel_before, l->kernel_now, sizeof(l->kernel_now));
	l->recursion_before = l->recursion_now;
	l->unfinished_before = l->unfinished_now;
	l->alone_before = l->alone_now;
	l->n_over_budget = 0;
}
