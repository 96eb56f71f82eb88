// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The BPF programs. They count stacks, write events with their stacks into rings (event.bpf.h), or
 * only count the hits of each target (calls.bpf.h).
 *
 *	hit -> filter -> claim scratch -> walk kernel -> walk user -> hash -> count
 *
 * The hashes of a row's two stacks are its key. The frames are stored once, when the row is new.
 * Rows lie in one of two generations of maps. User space turns to the other generation, waits until
 * no program uses the old one, and then reads and empties it. So each hit is counted once.
 */
#include "bpf/calls.bpf.h"
#include "bpf/context.bpf.h"
#include "bpf/defer.bpf.h"
#include "bpf/event.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/kernel_walk.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/row.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/value.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Programs of user probes preempt each other and nest in any order, so they claim atomically. All
 * others run on top of them, one at a time on a CPU, and need no atomic. An NMI may come between
 * the read and the write of a claim. It ends before the write, and then its slot is free again.
 */
static __always_inline bool try_claim(struct scratch_slot *slot, enum hit_kind kind)
{
	if (is_user_hit(kind))
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

/* Count the hit in its row. A hot row's counter is found without the row, others in the maps. */
static __always_inline void count_hit(enum hit_kind kind, __u32 turn, struct scratch_slot *slot)
{
	const struct stack_key *key = &slot->key;
	struct recent_row *recent = recent_row(slot);
	const __u32 g = turn % 2;
	struct stack_row *row;
	__u32 hot_row;

	if (is_recent(recent, key, turn) && count_hot(slot, recent->hot, g, is_user_hit(kind)))
		return;
	row = g ? bpf_map_lookup_elem(&counts1, key) : bpf_map_lookup_elem(&counts0, key);
	if (row) {
		hot_row = count_in(row, slot, g, is_user_hit(kind));
		if (hot_row)
			*recent = (struct recent_row){ *key, turn, hot_row };
	} else {
		create_row(slot->number, g);
	}
}

/* A global function. */
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
	if (was_deferred) {
		slot->walked[SIDE_USER].n = 0;
		slot->key.user_stack = 0;
	}
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
		count_call(ctx, is_user_hit(kind));
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
	if (!is_user_hit(kind) && slot->paced_ns)
		end_paced(slot);
	end_cost(slot);
	release_scratch(slot);
	return 0;
}

/*
 * Keep the kernel from giving this program a private stack, by a tail call that is never made
 * (@never is 0). Since Linux 6.13 (a76ab5731e32), each large stack of a program exists once for
 * each CPU. Two runs at once would mix up their data there, even pointers. Two kinds of programs
 * may run on top of themselves. A thread in a user probe's program may be preempted by another one.
 * A system call's program may, too, and by interrupts and NMIs that hit the same program at other
 * tracepoints (trace_call_bpf_faultable() of Linux 7.2). Programs with tail calls get no private
 * stack. A dead tail call counts, too: the kernel looks for them before it removes dead code.
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

/*
 * A program for links of one place, and one for links of many: they are loaded with different
 * attach types.
 */
#define FOR_ONE_OR_MANY(one, many, result) \
	SEC("?kprobe/count")               \
	int one(struct pt_regs *ctx)       \
	{                                  \
		return result;             \
	}                                  \
	SEC("?kprobe/count")               \
	int many(struct pt_regs *ctx)      \
	{                                  \
		return result;             \
	}

FOR_ONE_OR_MANY(on_kprobe, on_kprobe_multi, on_hit(ctx, HIT_KERNEL_FUNCTION))
FOR_ONE_OR_MANY(on_kreturn, on_kreturns, on_hit(ctx, HIT_KERNEL_RETURN))
FOR_ONE_OR_MANY(on_uprobe, on_uprobe_multi, on_user_hit(ctx, HIT_USER_FUNCTION))
FOR_ONE_OR_MANY(on_usdt, on_usdt_multi, on_user_hit(ctx, HIT_USER_PLACE))

/* After a 0, perf writes no record. User space compares the runs with the event's own count. */
SEC("?perf_event/count")
int on_sample(void *ctx)
{
	note_lost(SAMPLES);
	(void)on_hit(ctx, HIT_SAMPLE);
	return 0;
}

#include "bpf/pair.bpf.h" /* its programs walk as those above */

/* Withdraw the space of process @tgid. */
static __always_inline void forget_space(__u32 tgid)
{
	if (config.unwind && bpf_map_delete_elem(&spaces, &tgid) == 0)
		add_atomically(&trace_state.space_turn, 1);
}

/* Process @tgid no longer shares its memory: it has memory of its own, or has ended. */
static __always_inline void end_sharing(__u32 tgid)
{
	const __u32 *at = config.unwind ? bpf_map_lookup_elem(&sharers, &tgid) : NULL;
	__u32 other;

	if (!at)
		return;
	other = *at;
	bpf_map_delete_elem(&sharers, &tgid);
	at = bpf_map_lookup_elem(&sharers, &other);
	if (at && *at == tgid)
		bpf_map_delete_elem(&sharers, &other);
}

static __always_inline void raise_life(__u64 ids)
{
	struct life_count *life = find_life(ids >> 32);

	if (!life)
		return;
	*(volatile __u64 *)&life->since = bpf_ktime_get_ns();
	add_atomically(&life->n_raised, 1);
	forget_space(current_tgid());
	end_sharing(current_tgid());
}

/*
 * A process has made process @child. The child gets its parent's space: user space would publish
 * one too late. If they share memory (clone(CLONE_VM), vfork()), each sees the mappings of the
 * other. A child of our warden is a helper.
 */
static __always_inline void inherit_space(__u32 child, bool is_shared)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct unwind_space *parents = bpf_map_lookup_elem(&spaces, &tgid);
	struct own_processes *own = &trace_state.own;
	struct unwind_space space;

	if (!child || child == tgid)
		return;
	if (tgid == *(volatile __u32 *)&own->warden) {
		*(volatile __u32 *)&own->tgids[MOST_OWN + own->n_born % MOST_BORN] = child;
		*(volatile __u64 *)&own->born_mask |= own_mask_of(child);
		own->n_born++;
	}
	if (is_shared) {
		bpf_map_update_elem(&sharers, &child, &tgid, BPF_ANY);
		bpf_map_update_elem(&sharers, &tgid, &child, BPF_ANY);
	}
	if (!parents || !parents->number)
		return;
	space = *parents;
	if (bpf_map_update_elem(&spaces, &child, &space, BPF_NOEXIST) == 0)
		add_atomically(&trace_state.space_turn, 1);
}

/*
 * task_newtask(child, flags): also for threads that the kernel makes for a process (io_uring's),
 * which sched_process_fork does not report. The child does not run yet. In a PID namespace other
 * than the initial one, its process's number there is not known here.
 */
SEC("?raw_tp")
int on_new_task(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[0];

	if (config.command_tgid)
		follow_child(BPF_CORE_READ(child, pid));
	if (config.unwind && !config.has_pidns)
		inherit_space(BPF_CORE_READ(child, tgid), ctx->args[1] & CLONE_VM);
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
		bpf_map_delete_elem(&tasks, &tid);
	if (config.max_user_frames && ids >> 32 == tid)
		raise_life(ids);
	if (config.n_groups)
		forget_beginnings(tid);
	return 0;
}

/* Does the space in @slot have a mapping in [@start, @end)? */
static __always_inline bool is_mapped_between(struct scratch_slot *slot, __u64 start, __u64 end)
{
	const __u32 mappings = slot->space.mappings;
	const __u32 number = search_mappings(slot, end - 1) - 1;

	return number < MOST_MAPPINGS &&
	       load_word(slot, PLACE(mappings, unwind_mapping, number, end)) && slot->word > start;
}

/*
 * Other code may come to addresses of process @pid: count its later hits in new rows. Not if all
 * its rows are covered by the space of number @clear, which has nothing at these addresses. 0:
 * there is no such space.
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

/*
 * Note a place that the process with space @tgid gets (reserve_place()). @pid is its number in the
 * initial PID namespace. A global function, so the verifier checks it once for all sharers.
 */
__noinline int note_place(__u32 pid, __u32 tgid, __u64 start, __u64 end)
{
	divide_rows(pid, reserve_place(tgid, start, end));
	return 0;
}

#define MOST_SHARERS 3

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
	const __u32 first = current_tgid();
	struct vm_unmapped_area_info info = {};
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u32 tgid = first;

	if (start > ~0ULL - LAST_ERROR)
		return 0;
	bpf_probe_read_kernel(&info, sizeof(info), (void *)ctx->args[1]);
	for (__u32 i = 0; i < MOST_SHARERS; i++) {
		const __u32 *other;

		note_place(pid, tgid, start, info.length ? start + info.length : 0);
		other = bpf_map_lookup_elem(&sharers, &tgid);
		if (!other || *other == first)
			break;
		pid = tgid = *other;
	}
	return 0;
}
