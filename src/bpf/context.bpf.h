/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/context.bpf.h - the context of a hit. Programs leave out hits of our own processes. Hits in
 * hardware interrupts, or of very many functions, are lost if the CPU does nothing else.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk.bpf.h"

/*
 * The kernel's preempt_count on this CPU; 0 if programs cannot read it. User space replaces the
 * constant by the BTF ID of a variable, so the verifier knows its type. The read needs no helper
 * for kernel memory, which lockdown may refuse.
 */
static __always_inline __u32 preempt_count(void)
{
	const void *variable;

	if (!config.hardirq_mask)
		return 0;
	asm volatile("%0 = %1 ll" : "=r"(variable) : "i"(PREEMPT_COUNT_ID));
	variable = bpf_this_cpu_ptr(variable);
	return *(const volatile __u32 *)(variable + config.preempt_offset);
}

/* A kprobe by breakpoint looks like an NMI and like an interrupt. It counts as neither. */
static __always_inline bool is_interrupt(__u32 mask)
{
	const __u32 count = preempt_count();

	return count & mask && !(count & config.nmi_mask);
}

static __always_inline bool is_helper(__u32 tgid)
{
	const struct own_processes *own = &trace_state.own;

	if (!((*(const volatile __u64 *)&own->mask | *(const volatile __u64 *)&own->born_mask) &
	      own_mask_of(tgid)))
		return false;
	for (__u32 i = 0; i < MOST_OWN + MOST_BORN; i++)
		if (*(const volatile __u32 *)&own->tgids[i] == tgid)
			return true;
	return false;
}

/*
 * Does the hit belong to our own process or to a helper? A hit in an interrupt on top of one does
 * not.
 */
static __always_inline bool is_own_hit(__u32 tgid, enum hit_kind kind)
{
	if (!config.own_tgid || !tgid)
		return false;
	if (tgid != config.own_tgid && tgid != *(volatile __u32 *)&trace_state.helper_tgid &&
	    !is_helper(tgid))
		return false;
	/* A sample's own interrupt does not count. */
	if (!is_user_hit(kind) &&
	    is_interrupt(kind == HIT_SAMPLE ? SERVING_SOFTIRQ
					    : config.hardirq_mask | SERVING_SOFTIRQ))
		return false;
	note_lost(OWN_HITS);
	return true;
}

/* The window is over. Rest if hits took more than half of it. */
static __always_inline void judge_pace(struct cpu_pace *p, __u64 now)
{
	const __u64 time = now - p->since, n_windows = time / PACE_WINDOW_NS;

	p->since = now;
	if (p->busy_ns > time / 2) {
		if (p->n_rests < MOST_RESTS)
			p->n_rests++;
		p->since += PACE_WINDOW_NS << (p->n_rests & 7);
		p->rest_until = p->since;
	} else {
		p->n_rests -= p->n_rests < n_windows ? p->n_rests : n_windows;
	}
	p->busy_ns = 0;
}

/* Returns 1 if the CPU rests. Else the hit's measured time begins. A global function. */
__noinline int begin_paced(struct scratch_slot *slot)
{
	const __u64 now = bpf_ktime_get_ns();
	const __u32 zero = 0;
	struct cpu_pace *p = bpf_map_lookup_elem(&pace, &zero);

	if (!slot || !p)
		return 0;
	if (now < p->rest_until)
		return 1;
	if (now - p->since > PACE_WINDOW_NS)
		judge_pace(p, now);
	if (now < p->rest_until)
		return 1;
	slot->paced_ns = now;
	return 0;
}

__noinline int end_paced(struct scratch_slot *slot)
{
	const __u64 now = bpf_ktime_get_ns();
	const __u32 zero = 0;
	struct cpu_pace *p = bpf_map_lookup_elem(&pace, &zero);

	if (!slot || !p)
		return 0;
	p->busy_ns += now - slot->paced_ns;
	return 0;
}

/*
 * Note when a measured hit began. The clock's own time is left out of the hit's. A global function,
 * as the next one.
 */
__noinline int begin_measured(struct scratch_slot *slot)
{
	const __u64 before = bpf_ktime_get_ns();
	const __u64 now = bpf_ktime_get_ns();

	if (slot)
		slot->timed_ns = now + (now - before);
	return 0;
}

__noinline int end_measured(struct scratch_slot *slot)
{
	struct hit_cost *cost;
	__u64 ns;

	if (!slot)
		return 0;
	cost = &slot->counts.cost;
	ns = bpf_ktime_get_ns() - slot->timed_ns;
	if (ns > COST_MOST_NS)
		return 0;
	cost->n_measured++;
	cost->ns += ns;
	return 0;
}

static __always_inline void begin_cost(struct scratch_slot *slot, enum hit_kind kind)
{
	const __u64 n = slot->counts.cost.n_hits++;

	slot->timed_ns = 0;
	if (kind == HIT_SAMPLE ? n % COST_EVERY_SAMPLE != COST_EVERY_SAMPLE - 1
			       : n % COST_EVERY != COST_FIRST)
		return;
	begin_measured(slot);
}

static __always_inline void end_cost(struct scratch_slot *slot)
{
	if (slot->timed_ns)
		end_measured(slot);
}

/*
 * May bpf_find_vma() be called? Not with interrupts off. For a kernel function, the backend may
 * leave out the flags; then the program cannot tell.
 */
static __always_inline enum asking asking_of(void *ctx, enum hit_kind kind)
{
	const struct pt_regs *regs = ctx;

	if (is_user_hit(kind))
		return ASK_FREELY;
	if (is_interrupt(config.hardirq_mask))
		return ASK_NEVER;
	if (kind == HIT_SAMPLE)
		return config.hardirq_mask && !(preempt_count() & config.nmi_mask) ? ASK_FREELY
										   : ASK_NEVER;
	if (kind == HIT_KERNEL_RETURN) /* its flags are not kept everywhere */
		return ASK_WITH_CARE;
	if (kind != HIT_KERNEL_FUNCTION)
		return config.asks_with_care ? ASK_WITH_CARE : ASK_FREELY;
	if (!regs_have_flags(regs))
		return ASK_WITH_CARE;
	return regs_are_interruptible(regs) ? ASK_FREELY : ASK_NEVER;
}

static __always_inline bool is_at_rest(void *ctx, struct scratch_slot *slot, enum hit_kind kind)
{
	slot->paced_ns = 0;
	if (config.unwind)
		slot->asking = asking_of(ctx, kind);
	return !is_user_hit(kind) && (config.paces_tasks || is_interrupt(config.hardirq_mask)) &&
	       begin_paced(slot);
}
