/*
 * bpf/calls.bpf.h - how often is each target hit? One increment of the CPU's own counter; no
 * stack, no look-up by a hash.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* The verifier keeps one of the three ways. */
static __always_inline __u32 hit_target(void *ctx, bool is_new_kernel)
{
	__u32 number = 0;

	if (config.target_by == TARGET_BY_COOKIE)
		return bpf_get_attach_cookie(ctx);
	/* Where user space writes the target's number; the compiler is not to reckon with it. */
	if (!is_new_kernel && config.target_by == TARGET_BY_PROGRAM)
		asm volatile("%0 = %1" : "=r"(number) : "i"(TARGET_NUMBER));
	return number;
}

/* As count_hot(): user probes' programs can be preempted by one another. */
static __always_inline void count_call(void *ctx, bool is_preemptible, bool is_new_kernel)
{
	__u32 index = call_index(bpf_get_smp_processor_id(), hit_target(ctx, is_new_kernel),
				 config.calls_per_cpu);
	__u64 *own = bpf_map_lookup_elem(&calls, &index);

	if (!own)
		return;
	if (is_preemptible)
		add_atomically(own, 1);
	else
		*own += 1;
}
