/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/calls.bpf.h - count how often each target is hit: one addition to the CPU's own counter,
 * without a stack or a hash. MODE_CALLS does nothing else.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* Returns the number of the target. */
static __always_inline __u32 hit_target(void *ctx)
{
	return config.target_by == TARGET_BY_COOKIE ? bpf_get_attach_cookie(ctx) : 0;
}

/* Atomic where programs can preempt each other, as in count_hot(). */
static __always_inline void count_call(void *ctx, bool is_preemptible)
{
	__u32 index = call_index(bpf_get_smp_processor_id(), hit_target(ctx), config.calls_per_cpu);
	__u64 *own = bpf_map_lookup_elem(&calls, &index);

	if (!own)
		return;
	if (is_preemptible)
		add_atomically(own, 1);
	else
		*own += 1;
}
