/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/event.bpf.h - a hit as an event in its CPU's ring (struct event_ring of bpf/abi.h).
 *
 * An event costs one atomic addition and a cache line. It needs no lock, and a helper only to wake
 * a sleeping reader. Its stacks are stored once in the map 'stacks', as for counting.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/row.bpf.h"

/*
 * Take the next place in the ring, and set its time and slot->event. Returns NULL if the ring is
 * full. As many hits as there are scratch slots may stand between the check and the addition, so
 * this many places stay free.
 */
static __always_inline struct stream_event *reserve_event(struct scratch_slot *slot)
{
	const __u32 cpu = bpf_get_smp_processor_id();
	struct event_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct stream_event *event;
	__u64 n;
	__u32 i;

	if (!ring)
		return NULL;
	n = *(volatile __u64 *)&ring->head;
	if (n - *(volatile __u64 *)&ring->tail + SCRATCH_SLOTS > config.ring_events)
		return NULL;
	n = __sync_fetch_and_add(&ring->head, 1);
	i = cpu * config.ring_events + ((__u32)n & (config.ring_events - 1));
	event = bpf_map_lookup_elem(&events, &i);
	if (!event)
		return NULL;
	slot->event = n + 1;
	event->time = bpf_ktime_get_ns();
	return event;
}

/* A global function; by number as store_piece(). */
__noinline int keep_new_stacks(__u32 slot_number)
{
	struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);

	return slot ? store_stacks(slot) : 0;
}

/*
 * Store both stacks, unless the key is a recent row's, whose stacks are stored. Returns true if
 * they are lost.
 */
static __always_inline bool store_event_stacks(struct scratch_slot *slot, __u32 turn)
{
	struct recent_row *recent = recent_row(slot);
	int err;

	if (is_recent(recent, &slot->key, turn))
		return false;
	err = keep_new_stacks(slot->number);
	if (err) {
		note_lost(loss_of_error(err, LOST_STACKS_FULL));
		return true;
	}
	*recent = (struct recent_row){ slot->key, turn, 0 };
	notify_if_filling(turn % 2);
	return false;
}

static __always_inline void write_event(struct stream_event *event, struct scratch_slot *slot,
					__u32 tgid)
{
	const struct stack_key *key = &slot->key;
	const __u64 process = process_key(tgid, key->flags >> KEY_LIFE_SHIFT);

	event->kernel_stack = key->kernel_stack;
	event->user_stack = key->user_stack;
	event->tgid = tgid;
	event->tid = current_tid();
	event->flags = key->flags;
	if (config.has_sum) {
		event->state |= slot->lacks_value ? EVENT_NO_VALUE : 0;
		((struct valued_event *)event)->value = slot->value;
	}
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	if (slot->process != process) {
		slot->process = process;
		announce_process(process);
	}
	barrier();
	*(volatile __u64 *)&event->number = slot->event;
	if (*(volatile __u64 *)&trace_state.is_asleep) {
		*(volatile __u64 *)&trace_state.is_asleep = 0;
		send_notice(NOTICE_EVENTS, 0);
	}
}
