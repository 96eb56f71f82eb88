/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/calls.bpf.h - count how often each target is hit: one addition to the CPU's own counter,
 * without a stack or a hash. MODE_CALLS does nothing else.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* Returns the number of the target. The verifier keeps one of the three ways. */
static __always_inline __u32 hit_target(void *ctx, bool is_new_kernel)
{
	__u32 number = 0;

	if (config.target_by == TARGET_BY_COOKIE)
		return bpf_get_attach_cookie(ctx);
	/*
	 * User space writes the target's number here. The assembler keeps the compiler from
	 * assuming its value.
	 */
	if (!is_new_kernel && config.target_by == TARGET_BY_PROGRAM)
		asm volatile("%0 = %1" : "=r"(number) : "i"(TARGET_NUMBER));
	return number;
}

/* Atomic where programs can preempt each other, as in count_hot(). */
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
