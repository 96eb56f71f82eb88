/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/follow.bpf.h - what becomes of processes: threads begin and end, programs are executed, and
 * mappings get their places.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/rule.bpf.h"

/*
 * --- the processes of a command (config.command_tgid), by thread ---
 *
 * A parent notes its new thread or process before that runs. A thread is removed in its own exit.
 */

static __always_inline void follow_task(__u32 tid)
{
	const __u32 one = 1;

	if (bpf_map_update_elem(&wanted, &tid, &one, BPF_ANY))
		note_lost(LOST_NOT_FOLLOWED);
}

static __always_inline void follow_child(__u32 child)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(&wanted, &tid))
		follow_task(child);
}

/* The command begins with its exec. A thread that execs takes its leader's number; @old is its own.
 */
static __always_inline void follow_exec(__u32 old)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (current_tgid() == config.command_tgid) {
		follow_task(tid);
	} else if (old != tid && bpf_map_lookup_elem(&wanted, &old)) {
		bpf_map_delete_elem(&wanted, &old);
		follow_task(tid);
	}
}

/* --- lives and spaces --- */

/* Withdraw the space of process @tgid. */
static __always_inline void forget_space(__u32 tgid)
{
	if (config.unwind && bpf_map_delete_elem(&spaces, &tgid) == 0)
		add_atomically(&trace_state.space_turn, 1);
}

static __always_inline void raise_life(__u64 ids)
{
	struct life_count *life = find_life(ids >> 32);

	if (!life)
		return;
	*(volatile __u64 *)&life->since = bpf_ktime_get_ns();
	add_atomically(&life->n_raised, 1);
	forget_space(current_tgid());
}

/*
 * Somebody has made task @child. Note a child of the zygote. Its number may be a foreign process's
 * later on.
 */
static __always_inline void note_own_child(__u32 child)
{
	volatile __u32 *at = &trace_state.children[child % OWN_PLACES];
	const __u32 zygote = *(volatile __u32 *)&trace_state.zygote;

	if (zygote && current_tgid() == zygote)
		*at = child;
	else if (*at == child)
		*at = 0;
}

/*
 * A process has made process @child. The child gets its parent's space: user space would publish
 * one too late.
 */
static __always_inline void inherit_space(__u32 child)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct unwind_space *parents = bpf_map_lookup_elem(&spaces, &tgid);
	struct unwind_space space;

	if (!child || child == tgid || !parents || !parents->number)
		return;
	space = *parents;
	if (bpf_map_update_elem(&spaces, &child, &space, BPF_NOEXIST) == 0)
		add_atomically(&trace_state.space_turn, 1);
}

/* --- programs of tracepoints --- */

/* A thread ends: what it has begun has no end, and another thread may get its number. */
static __always_inline void forget_beginnings(__u32 tid)
{
	struct begun_key at = { .thread = tid };

#pragma unroll /* Linux 6.1 may take a loop for endless: see tests/lint/loops */
	for (__u32 i = 0; i < MOST_GROUPS; i++) {
		at.group = i;
		if (i < config.n_groups && bpf_map_delete_elem(&begun, &at) == 0)
			note_lost(UNFINISHED);
	}
}

/*
 * task_newtask(child, flags): also for threads that the kernel makes for a process (io_uring's),
 * which sched_process_fork does not report. The child does not run yet. In a PID namespace other
 * than the initial one, its process's number there is not known here.
 */
SEC("?raw_tp")
int on_new_task(struct bpf_raw_tracepoint_args *ctx)
{
	const __u64 child = ctx->args[0];

	if (config.command_tgid)
		follow_child(task_member(child, config.at.pid));
	if (config.max_user_frames)
		note_own_child(task_member(child, config.at.tgid));
	if (config.unwind && !config.has_pidns)
		inherit_space(task_member(child, config.at.tgid));
	return 0;
}

/* sched_process_exec(task, old number of the thread, ...) */
SEC("?raw_tp")
int on_program(struct bpf_raw_tracepoint_args *ctx)
{
	if (config.command_tgid)
		follow_exec(ctx->args[1]);
	if (config.max_user_frames)
		raise_life(bpf_get_current_pid_tgid());
	return 0;
}

/*
 * sched_process_exit(). A process's life is raised at the end of its first thread. If other threads
 * outlive that, their hits get a further life, which harms nothing.
 */
SEC("?raw_tp")
int on_end(void *ctx __attribute__((unused)))
{
	const __u64 ids = bpf_get_current_pid_tgid();
	const __u32 tid = ids;

	if (config.command_tgid)
		bpf_map_delete_elem(&wanted, &tid);
	if (config.max_user_frames && ids >> 32 == tid)
		raise_life(ids);
	if (config.n_groups)
		forget_beginnings(tid);
	return 0;
}

/* --- places of mappings --- */

/* Does the space in @slot have a mapping in [@start, @end)? */
static __always_inline bool is_mapped_between(struct scratch_slot *slot, __u64 start, __u64 end)
{
	const struct unwind_mapping *last = mapping_of(slot, search_mappings(slot, end - 1) - 1);

	return last && last->end > start;
}

/*
 * Other code may come to addresses of process @pid: count its later hits in new rows. Not if the
 * space of number @clear covers all its rows and has nothing at these addresses; 0: there is none.
 */
static __always_inline void divide_rows(__u32 pid, __u32 clear)
{
	struct life_count *life = config.mode == MODE_STACKS ? find_life(pid) : NULL;

	if (!life || life->rows == LIFE_NO_ROWS || life->rows == clear)
		return;
	*(volatile __u32 *)&life->rows = LIFE_NO_ROWS;
	add_atomically(&life->n_raised, 1);
}

/*
 * Process @tgid gets a place for a mapping: [@start, @end), or an unknown place if @end is 0. If
 * its space has nothing there, returns the space's number. Else withdraws the space and returns 0.
 */
static __always_inline __u32 reserve_place(__u32 tgid, __u64 start, __u64 end)
{
	const struct unwind_space *space;
	struct scratch_slot *slot;
	bool is_there = true;
	__u32 number = 0;

	space = bpf_map_lookup_elem(&spaces, &tgid);
	if (!space)
		return 0;
	slot = claim_scratch(HIT_USER_PLACE); /* as where preemption is possible */
	if (slot && end) {
		slot->space = *space;
		slot->space_of = 0;
		number = slot->space.number;
		is_there = is_mapped_between(slot, start, end);
	}
	if (slot)
		release_scratch(slot);
	if (is_there)
		forget_space(tgid);
	return is_there ? 0 : number;
}

/* As reserve_place(). @pid: the process's number in the initial PID namespace. */
__noinline int note_place(__u32 pid, __u32 tgid, __u64 start, __u64 end)
{
	divide_rows(pid, reserve_place(tgid, start, end));
	return 0;
}

/*
 * The kernel has found a free place for a mapping of this process. If the published list has
 * something there, that has gone, and other code comes before user space knows. So the list is
 * withdrawn, and later walks ask the kernel. A library gets one place for all its segments. The
 * memory map is locked at this tracepoint, so no thread has code there before this program ends.
 */
SEC("?raw_tp")
int on_reserved(struct bpf_raw_tracepoint_args *ctx)
{
	const __u64 start = ctx->args[0];
	struct vm_unmapped_area_info info = {};

	if (start > ~0ULL - LAST_ERROR)
		return 0;
	bpf_probe_read_kernel(&info, sizeof(info), (void *)ctx->args[1]);
	note_place(bpf_get_current_pid_tgid() >> 32, current_tgid(), start,
		   info.length ? start + info.length : 0);
	return 0;
}
