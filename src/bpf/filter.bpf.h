/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/filter.bpf.h - what comes before the walk. Is this hit wanted? Then a slot of working memory
 * is claimed, and the hit's value is found.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* --- losses, lives and notices --- */

static __always_inline void note_lost(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&lost, &reason);

	if (n)
		add_atomically(n, 1);
}

/* The life count of a process, by its number in the initial PID namespace. */
static __always_inline struct life_count *find_life(__u32 pid)
{
	const __u32 i = pid % LIVES;

	return bpf_map_lookup_elem(&lives, &i);
}

static __always_inline __u32 current_life(void)
{
	const __u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct life_count *life = find_life(pid);

	return life ? LIFE(pid % LIVES, *(volatile __u32 *)&life->n_raised) : 0;
}

static __always_inline void describe_process(struct notice *notice)
{
	struct life_count *life = NULL;

	notice->time = bpf_ktime_get_ns();
	notice->user = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(notice->comm, sizeof(notice->comm));
	if (config.max_user_frames)
		life = find_life(bpf_get_current_pid_tgid() >> 32);
	if (life)
		notice->since = *(volatile __u64 *)&life->since;
}

/*
 * Send a notice to user space. If the ring is full the notice is lost, but no count: user space
 * also looks by itself. Returns 0 or an error.
 */
static __always_inline int send_notice(__u32 type, __u64 process)
{
	struct notice notice = { .type = type,
				 .tgid = tgid_of_key(process),
				 .life = life_of_key(process) };

	if (type == NOTICE_PROCESS)
		describe_process(&notice);
	return (int)bpf_ringbuf_output(&wake, &notice, sizeof(notice), BPF_RB_FORCE_WAKEUP);
}

/* --- wanted tasks --- */

/* As bpf_get_current_pid_tgid(), but in our PID namespace; 0 if the process has no number there. */
static __always_inline __u64 current_ids(void)
{
	struct bpf_pidns_info ids = {};

	if (!config.has_pidns)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(config.pidns_dev, config.pidns_ino, &ids, sizeof(ids)))
		return 0;
	return (__u64)ids.tgid << 32 | ids.pid;
}

static __always_inline __u32 current_tgid(void)
{
	return current_ids() >> 32;
}

static __always_inline bool is_wanted_task(__u32 tgid)
{
	if (config.no_idle && !(__u32)bpf_get_current_pid_tgid())
		return false;
	if (config.has_cpus) {
		__u32 cpu = bpf_get_smp_processor_id();

		if (cpu >= MAX_CPUS || !(config.cpus[cpu / 64] >> (cpu % 64) & 1))
			return false;
	}
	if (config.tgid && tgid != config.tgid)
		return false;
	if (config.has_tgids && !bpf_map_lookup_elem(&wanted, &tgid))
		return false;
	if (config.follow) {
		__u32 tid = bpf_get_current_pid_tgid();

		return bpf_map_lookup_elem(&wanted, &tid);
	}
	return true;
}

/* Is the hit below the limit of --events? */
static __always_inline bool is_below_limit(void)
{
	__u64 n;

	if (!config.max_events)
		return true;
	n = __sync_fetch_and_add(&trace_state.n_hits, 1);
	if (n + 1 == config.max_events)
		send_notice(NOTICE_ENOUGH, 0);
	return n < config.max_events;
}

/* --- the context of a hit --- */

/*
 * The kernel's preempt_count on this CPU; 0 if programs cannot read it. By the variable's BTF ID
 * the verifier knows its type, so this needs no helper for kernel memory, which lockdown may
 * refuse.
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
	if (tgid == *(const volatile __u32 *)&trace_state.zygote)
		return true;
	if (config.has_pidns)
		tgid = bpf_get_current_pid_tgid() >> 32;
	return *(const volatile __u32 *)&trace_state.children[tgid % OWN_PLACES] == tgid;
}

/* Is it a hit of a process of ours? One in an interrupt on top of these is not. */
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

/* Note when a measured hit began, without the clock's own time. A global function, as the next. */
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

/* --- counts of targets --- */

/* Returns the number of the target. */
static __always_inline __u32 hit_target(void *ctx)
{
	return config.by_cookie ? bpf_get_attach_cookie(ctx) : 0;
}

/* All that MODE_CALLS does. */
static __always_inline void count_call(void *ctx, bool atomic)
{
	__u32 index = call_index(bpf_get_smp_processor_id(), hit_target(ctx), config.calls_per_cpu);
	__u64 *own = bpf_map_lookup_elem(&calls, &index);

	if (own)
		add_own(own, 1, atomic);
}

/* --- the value of a hit --- */

/*
 * Put the hit's value into *@value. @number: of its code. Returns 0, or 1 if there is no value.
 * User space adds the code to the program, as a function of this one's type (attach/value_code.h).
 * A global function cannot have the context of any kind of program as an argument.
 */
static __attribute__((noinline)) int value_of_hit(void *ctx, __s64 *value, __u32 number)
{
	static int (*const code)(void *, __s64 *, __u32) = (void *)VALUE_CALL;

	return code(ctx, value, number);
}

/* Put its value into the slot. True: the hit has none. */
static __always_inline bool has_no_value(void *ctx, struct scratch_slot *slot)
{
	return config.has_sum && value_of_hit(ctx, &slot->value, hit_target(ctx));
}

/* --- slots of working memory --- */

/*
 * Preemptible programs nest in any order, so they claim atomically. All others run on top of them,
 * one at a time on a CPU, and need no atomic. An NMI may come between the read and the write of a
 * claim. It ends before the write, and then its slot is free again.
 */
static __always_inline bool try_claim(struct scratch_slot *slot, enum hit_kind kind)
{
	if (is_preemptible(kind))
		return !__sync_lock_test_and_set(&slot->busy, 1);
	if (*(volatile __u64 *)&slot->busy)
		return false;
	*(volatile __u64 *)&slot->busy = 1;
	return true;
}

static __always_inline struct scratch_slot *claim_scratch(enum hit_kind kind)
{
	struct scratch_slot *slot;

	for (__u32 i = 0; i < SCRATCH_SLOTS; i++) {
		__u32 key = i;

		slot = bpf_map_lookup_elem(&scratch, &key);
		if (!slot)
			return NULL;
		if (try_claim(slot, kind)) {
			slot->number = i;
			return slot;
		}
	}
	return NULL;
}

static __always_inline void release_scratch(struct scratch_slot *slot)
{
	*(volatile __u64 *)&slot->busy = 0;
}

/* The end of a hit whose price and pace are measured. */
static __always_inline void end_hit(struct scratch_slot *slot, enum hit_kind kind)
{
	if (!is_user_hit(kind) && slot->paced_ns)
		end_paced(slot);
	if (slot->timed_ns)
		end_measured(slot);
	release_scratch(slot);
}
