/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/pair.bpf.h - the time from an event to its end (config.n_groups). See struct begun_key.
 *
 *	beginning -> filter -> claim scratch -> walk -> store stacks -> map 'begun'
 *	end       -> its beginning -> count in the row of the beginning's stacks
 *
 * The walk is over before the time of a beginning is taken, so the time between has no part of it.
 * A thread that leaves the CPU has left it before the walk.
 * These programs are others than those of hits: runs without pairs have nothing of them.
 */
#pragma once

/* The key of the event's pair, which is number @pair. */
static __always_inline struct begun_key key_of_pair(void *ctx, enum hit_kind kind, __u32 pair)
{
	struct begun_key at = { .group = GROUP_OF_PAIR(pair) };

	if (is_user_hit(kind)) {
		at.sp = regs_sp((struct pt_regs *)ctx);
		at.thread = bpf_get_current_pid_tgid() >> 32;
	} else {
		at.thread = bpf_get_current_pid_tgid();
		if (!at.thread)
			at.thread = IDLE_THREAD | bpf_get_smp_processor_id();
	}
	return at;
}

/* Keep the beginning in the slot until its end comes. Its time is @since; 0: now. */
static __always_inline void keep_beginning(void *ctx, enum hit_kind kind,
					   const struct scratch_slot *slot, __u32 pair, __u64 since)
{
	const struct begun_key at = key_of_pair(ctx, kind, pair);
	struct beginning *before = bpf_map_lookup_elem(&begun, &at);
	struct beginning now = { .key = slot->key, .pair = pair };
	int err;

	if (before) { /* a pair of the same group, which has no end */
		note_lost(UNFINISHED);
		before->key = now.key;
		before->pair = pair;
		before->time = since ? since : bpf_ktime_get_ns();
		return;
	}
	now.time = since ? since : bpf_ktime_get_ns();
	err = add_to_map(&begun, &at, &now);
	if (err)
		note_lost(loss_of_error(err, LOST_BEGUN_FULL));
}

/* Store the walked stacks. One that user space walks is a LATE_STACK(). True: they are lost. */
static __always_inline bool store_beginning(struct scratch_slot *slot, __u32 turn)
{
	const bool was_deferred = is_deferred(slot, turn);
	struct stack_key *key = &slot->key;

	if (store_event_stacks(slot, turn))
		return true;
	if (was_deferred) {
		key->user_stack = LATE_STACK(slot->deferred);
		return false;
	}
	note_row(slot);
	announce_process(process_key(key->tgid, key->flags >> KEY_LIFE_SHIFT));
	return false;
}

/* A beginning of pair number @pair. @since: as of keep_beginning(). */
static __always_inline int on_begin(void *ctx, enum hit_kind kind, __u32 pair, __u64 since)
{
	const __u32 turn = *(volatile __u32 *)&trace_state.turn;
	struct scratch_slot *slot;
	__u32 tgid;

	if (turn == TURN_OFF)
		return 0;
	tgid = current_tgid();
	if (!is_wanted_task(tgid) || is_own_hit(tgid, kind))
		return 0;
	note_lost(BEGUN);
	slot = claim_scratch(kind);
	if (!slot) {
		note_lost(LOST_NO_SCRATCH);
		return 0;
	}
	begin_cost(slot, kind);
	if (is_at_rest(ctx, slot, kind)) {
		note_lost(LOST_AT_REST);
	} else {
		walk_stacks(ctx, kind, tgid, slot);
		if (!store_beginning(slot, turn))
			keep_beginning(ctx, kind, slot, pair, since);
	}
	end_hit(slot, kind);
	return 0;
}

/* Count the pair in the slot, whose stacks are stored since its beginning, at @first. */
static __always_inline void count_pair(const struct scratch_slot *slot, __u64 first, __u32 g)
{
	struct stack_row *row = find_row(&slot->key, g);

	if (!row) {
		row = insert_row(slot, first, g);
		if (!row)
			return;
	}
	count_in(row, slot, g, true);
}

/*
 * Take the beginning @b at @at out of the map, and count it. Programs of user functions preempt
 * each other, so all claim as those.
 */
static __always_inline void end_pair(const struct begun_key *at, const struct beginning *b,
				     __u64 now, __u32 turn)
{
	struct scratch_slot *slot = claim_scratch(HIT_USER_FUNCTION);
	const __u64 first = b->time;

	if (slot) {
		slot->key = b->key;
		slot->value = now - first;
	}
	if (bpf_map_delete_elem(&begun, at) == 0) {
		if (slot)
			count_pair(slot, first, turn % 2);
		else
			note_lost(LOST_NO_SCRATCH);
	}
	if (slot)
		release_scratch(slot);
}

/* The end of pair number @pair at @at. @is_told: it counts if it has no beginning. */
static __attribute__((noinline)) int on_until(const struct begun_key *at, __u32 pair, bool is_told)
{
	const __u64 now = bpf_ktime_get_ns();
	const __u32 turn = *(volatile __u32 *)&trace_state.turn;
	const struct beginning *b;

	if (turn == TURN_OFF)
		return 0;
	b = bpf_map_lookup_elem(&begun, at);
	if (b && b->pair == pair) {
		if (is_below_limit())
			end_pair(at, b, now, turn);
	} else if (is_told) { /* filters leave out beginnings, so they apply here, too */
		const __u32 tgid = current_tgid();

		if (is_wanted_task(tgid) && !is_own_hit(tgid, HIT_TRACEPOINT))
			note_lost(ENDED_ALONE);
	}
	return 0;
}

static __always_inline int end_event(void *ctx, enum hit_kind kind)
{
	const __u32 pair = hit_target(ctx);
	const struct begun_key at = key_of_pair(ctx, kind, pair);

	return on_until(&at, pair, true);
}

SEC("?tracepoint/count")
int on_begin_tp(void *ctx)
{
	keep_own_stack(ctx, &no_tracepoints);
	(void)on_begin(ctx, HIT_TRACEPOINT, hit_target(ctx), 0);
	return OTHERS_GO_ON;
}

SEC("?tracepoint/count")
int on_until_tp(void *ctx)
{
	keep_own_stack(ctx, &no_tracepoints);
	(void)end_event(ctx, HIT_TRACEPOINT);
	return OTHERS_GO_ON;
}

/*
 * The scheduler goes from the current thread to the next one. That one is back, if it has left
 * while we counted. The current one leaves, unless it is an idle task, or ends. Here the run
 * queue's lock is held.
 *
 * A raw tracepoint, because perf runs no program while another one runs on the CPU, or a system
 * call on a map. Each of these would leave a thread off the CPU until it is there again.
 */
SEC("?raw_tp/count")
int on_switch_raw(struct bpf_raw_tracepoint_args *ctx)
{
	const __u64 now = bpf_ktime_get_ns();
	const __u32 pair = config.switch_pair;
	const struct begun_key at = { .thread = task_member(ctx->args[2], config.at.pid),
				      .group = GROUP_OF_PAIR(pair) };

	on_until(&at, pair, false);
	if (!(__u32)bpf_get_current_pid_tgid() ||
	    task_member(ctx->args[1], config.at.flags) & PF_EXITING)
		return 0;
	return on_begin(ctx, HIT_RAW_TRACEPOINT, pair, now);
}

SEC("?kprobe/count")
int on_begin_up(struct pt_regs *ctx)
{
	keep_own_stack(ctx, &no_programs);
	return on_begin(ctx, HIT_USER_FUNCTION, hit_target(ctx), 0);
}

SEC("?kprobe/count")
int on_until_up(struct pt_regs *ctx)
{
	keep_own_stack(ctx, &no_programs);
	return end_event(ctx, HIT_USER_FUNCTION);
}
