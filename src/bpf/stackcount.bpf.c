// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The BPF programs. They count stacks, write events with their stacks into rings, or only count the
 * hits of each target.
 *
 *	hit -> filter -> claim scratch -> walk kernel -> walk user -> hash -> count
 *
 * The hashes of a row's two stacks are its key. The frames are stored once, when the row is new.
 * Rows lie in one of two generations of maps. User space turns to the other generation, waits until
 * no program uses the old one, and then reads and empties it. So each hit is counted once.
 */
#include "bpf/defer.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/kernel_stack.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/row.bpf.h"
#include "bpf/user_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Count the hit in its row. A hot row's counter is found without the row, others in the maps. */
static __always_inline void count_hit(enum hit_kind kind, __u32 turn, struct scratch_slot *slot)
{
	const struct stack_key *key = &slot->key;
	struct recent_row *recent = recent_row(slot);
	const __u32 g = turn % 2;
	struct stack_row *row;
	__u32 hot_row;

	if (is_recent(recent, key, turn) && count_hot(slot, recent->hot, g, is_preemptible(kind)))
		return;
	row = g ? bpf_map_lookup_elem(&counts1, key) : bpf_map_lookup_elem(&counts0, key);
	if (row) {
		hot_row = count_in(row, slot, g, is_preemptible(kind));
		if (hot_row)
			*recent = (struct recent_row){ *key, turn, hot_row };
	} else {
		create_row(slot->number, g);
	}
}

/* A global function, so the verifier checks it once for all callers; likewise many others. */
__noinline __u64 hash_kernel_stack(struct scratch_slot *slot)
{
	return slot ? hash_walked_stack(slot, SIDE_KERNEL) : 0;
}

/*
 * Walk the kernel's stack, by tables or by the helper. Returns its hash. If the helper disagrees
 * with the tables, the run uses the helper alone from then on.
 */
static __always_inline __u64 walk_kernel(void *ctx, enum hit_kind kind, struct scratch_slot *slot)
{
	__u64 hash, own = 0;
	__u32 mark;

	if (kind != HIT_KERNEL_RETURN && kind != HIT_RAW_TRACEPOINT && config.kernel_tables &&
	    walk_kernel_by_tables(ctx, kind, slot)) {
		own = hash_kernel_stack(slot);
		if (!is_kernel_walk_checked(slot))
			return own;
	}
	mark = walk_kernel_by_helper(ctx, kind, slot);
	hash = hash_kernel_stack(slot);
	if (own && own != hash && !mark)
		refuse_kernel_walks(slot);
	return hash;
}

/* Walk both stacks, and fill in the slot's key. */
static __always_inline void walk_stacks(void *ctx, enum hit_kind kind, __u32 tgid,
					struct scratch_slot *slot)
{
	struct stack_key *key = &slot->key;

	*key = (struct stack_key){};
	if (config.per_process)
		key->tgid = tgid;
	if (config.max_kernel_frames && has_kernel_stack(ctx, kind)) {
		key->kernel_stack = walk_kernel(ctx, kind, slot);
		if (is_kernel_pc_exact(ctx, kind) || kind == HIT_KERNEL_RETURN)
			key->flags = KEY_KERNEL_PC_EXACT;
	}
	if (config.max_user_frames) {
		key->flags |= walk_user(ctx, kind, tgid, slot);
		if (n_words(&slot->walked[SIDE_USER])) {
			key->user_stack = hash_walked_stack(slot, SIDE_USER);
			key->tgid = tgid;
		}
	}
	if (config.max_user_frames && key->tgid)
		key->flags |= current_life() << KEY_LIFE_SHIFT;
	else if (config.per_process && !key->tgid && !bpf_get_current_pid_tgid())
		key->flags |= (bpf_get_smp_processor_id() + 1) << KEY_LIFE_SHIFT;
}

static __always_inline void stream_hit(void *ctx, enum hit_kind kind, __u32 turn, __u32 tgid,
				       struct scratch_slot *slot)
{
	struct stream_event *event;
	bool was_deferred;

	/* In memory, or the verifier would follow both answers to the end. */
	if (config.has_sum)
		slot->lacks_value = has_no_value(ctx, slot);
	event = reserve_event(slot);
	if (!event) {
		note_lost(LOST_RING_FULL);
		return;
	}
	walk_stacks(ctx, kind, tgid, slot);
	was_deferred = is_deferred(slot, turn);
	event->state = store_event_stacks(slot, turn) ? EVENT_LOST : 0;
	if (was_deferred) {
		event->state |= EVENT_DEFERRED;
		slot->key.user_stack = slot->deferred;
	}
	write_event(event, slot, tgid);
}

/*
 * Is this a pause? Called in MODE_EVENTS alone, because the verifier would follow both answers to
 * the end.
 */
static __always_inline bool is_pause(__u32 turn)
{
	barrier_var(turn); /* or newer compilers test this before the mode */
	return turn == TURN_PAUSE;
}

static __always_inline int on_hit(void *ctx, enum hit_kind kind)
{
	__u32 turn = *(volatile __u32 *)&trace_state.turn;
	struct scratch_slot *slot;
	__u32 tgid = 0;

	if (turn == TURN_OFF)
		return 0;
	if (config.tgid || config.has_tgids || config.per_process || config.max_user_frames ||
	    config.own_tgid || config.mode == MODE_EVENTS)
		tgid = current_tgid();
	if (!is_wanted_task(tgid) || is_own_hit(tgid, kind) || !is_below_limit())
		return 0;
	if (config.calls_per_cpu)
		count_call(ctx, is_preemptible(kind));
	if (config.mode == MODE_CALLS)
		return 0;
	if (config.mode == MODE_EVENTS && is_pause(turn)) {
		note_lost(LOST_IN_PAUSE);
		return 0;
	}
	slot = claim_scratch(kind);
	if (!slot) {
		note_lost(LOST_NO_SCRATCH);
		return 0;
	}
	begin_cost(slot, kind);
	if (is_at_rest(ctx, slot, kind)) {
		note_lost(LOST_AT_REST);
	} else if (config.mode == MODE_EVENTS) {
		stream_hit(ctx, kind, turn, tgid, slot);
	} else if (has_no_value(ctx, slot)) {
		note_lost(LOST_NO_VALUE);
	} else {
		walk_stacks(ctx, kind, tgid, slot);
		if (!is_deferred(slot, turn))
			count_hit(kind, turn, slot);
	}
	end_hit(slot, kind);
	return 0;
}

/*
 * Keep the kernel from giving this program a private stack, by a tail call that is never made
 * (@never is 0). Since Linux 6.13 (a76ab5731e32), each large stack of a program exists once for
 * each CPU. Two runs at once would mix up their data there, even pointers. Threads preempt each
 * other in the program, and an NMI hits on top of a system call. Programs with tail calls get no
 * private stack. Dead ones count, too: the kernel looks for tail calls before it removes dead code.
 * @programs is for programs of this one's type. The kernel refuses two types with one map.
 */
static __always_inline void keep_own_stack(void *ctx, void *programs)
{
	if (config.never)
		bpf_tail_call(ctx, programs, 0);
}

static __always_inline int on_user_hit(struct pt_regs *ctx, enum hit_kind kind)
{
	keep_own_stack(ctx, &no_programs);
	return on_hit(ctx, kind);
}

/*
 * The return value of programs at tracepoints. After a 0, the kernel skips the perf events of
 * others at the same tracepoint. See perf_trace_run_bpf_submit(), since Linux 4.7.
 */
#define OTHERS_GO_ON 1

SEC("?tracepoint/count")
int on_tracepoint(void *ctx)
{
	keep_own_stack(ctx, &no_tracepoints);
	(void)on_hit(ctx, HIT_TRACEPOINT);
	return OTHERS_GO_ON;
}

/* A program of kprobes or uprobes: user space sets its attach type, by the kind of its links. */
#define PROBE_PROGRAM(name, result)   \
	SEC("?kprobe/count")          \
	int name(struct pt_regs *ctx) \
	{                             \
		return result;        \
	}

PROBE_PROGRAM(on_kprobe, on_hit(ctx, HIT_KERNEL_FUNCTION))
PROBE_PROGRAM(on_kreturn, on_hit(ctx, HIT_KERNEL_RETURN))
PROBE_PROGRAM(on_uprobe, on_user_hit(ctx, HIT_USER_FUNCTION))
PROBE_PROGRAM(on_usdt, on_user_hit(ctx, HIT_USER_PLACE))

/* After a 0, perf writes no record. User space compares the runs with the event's own count. */
SEC("?perf_event/count")
int on_sample(void *ctx)
{
	note_lost(SAMPLES);
	(void)on_hit(ctx, HIT_SAMPLE);
	return 0;
}

/* Their programs are written with the functions above. */
#include "bpf/follow.bpf.h"
#include "bpf/pair.bpf.h"
