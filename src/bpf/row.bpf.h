/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/row.bpf.h - from walked stacks to their row, or to an event: hash the stacks, store them, add
 * to the row.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"

/* --- hashes --- */

static __always_inline __u64 *first_word(struct scratch_slot *slot, __u32 side)
{
	return &words_of_side(slot, side)[slot->walked[side & 1].start & 1];
}

/*
 * The words of piece number @piece. A number beyond the last piece gives the first one.
 *
 * The bound is in assembler for the verifier. A compiler may compare one register and use another;
 * Linux 6.1 does not connect the two. The likely case comes first: the verifier then prunes the
 * other one.
 */
static __always_inline __u64 *stack_piece_of(struct scratch_slot *slot, __u32 side, __u64 piece)
{
	__u64 *words = first_word(slot, side);

	__asm__ volatile("if %[piece] >= %[n] goto +1\n\t"
			 "goto +1\n\t"
			 "%[piece] = 0"
			 : [piece] "+r"(piece), [words] "+r"(words)
			 : [n] "i"(CHUNKS_PER_STACK));
	return words + piece * CHUNK_WORDS;
}

/*
 * The hash of one piece of a stack, combined with the hash @before of the pieces before it. It
 * covers whole groups of words, since zeros follow a stack's words. In four lanes, the
 * multiplications overlap. The seeds are random, so nobody can prepare two stacks with one hash.
 */
__noinline __u64 hash_piece(struct scratch_slot *slot, __u32 side, __u32 piece, __u64 before)
{
	__u64 a = before, b = config.hash_seed[1] ^ before, c = ~a, d = ~b;
	const __u64 *words;
	__u32 n;

	if (!slot)
		return 0;
	words = stack_piece_of(slot, side, piece);
	n = n_words(&slot->walked[side & 1]) - piece * CHUNK_WORDS;
	for (__u32 i = 0; i < CHUNK_WORDS; i += HASH_GROUP) {
		if (i >= n)
			break;
		a = (a ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		b = (b ^ words[i + 1]) * 0xc2b2ae3d27d4eb4fULL;
		c = (c ^ words[i + 2]) * 0xbf58476d1ce4e5b9ULL;
		d = (d ^ words[i + 3]) * 0x94d049bb133111ebULL;
		a ^= a >> 32;
		b ^= b >> 29;
		c ^= c >> 31;
		d ^= d >> 30;
	}
	a = (a ^ c) * 0xff51afd7ed558ccdULL;
	b = (b ^ d) * 0xc4ceb9fe1a85ec53ULL;
	a ^= a >> 32 ^ b ^ b >> 29;
	a *= config.hash_seed[0];
	return a ^ a >> 32;
}

struct hashing {
	struct scratch_slot *slot;
	__u64 hash; /* of all pieces before */
};

static long hash_next(__u64 step, struct hashing *h)
{
	if ((__u32)step * CHUNK_WORDS >= n_words(&h->slot->walked[SIDE_USER]))
		return 1;
	h->hash = hash_piece(h->slot, SIDE_USER, (__u32)step, h->hash);
	return 0;
}

/* The hash of a user stack of more than SHORT_WORDS words. */
__noinline __u64 hash_long(struct scratch_slot *slot)
{
	struct hashing h = { slot, config.hash_seed[0] };

	if (!slot)
		return 0;
	bpf_loop(CHUNKS_PER_STACK, hash_next, &h, 0);
	return h.hash;
}

static __always_inline __u64 hash_walked_stack(struct scratch_slot *slot, enum side side)
{
	const __u64 n = n_words(&slot->walked[side]);
	__u64 hash = config.hash_seed[0];

	if (side == SIDE_USER && n > SHORT_WORDS)
		return STACK_HASH(hash_long(slot));
	for (__u32 i = 0; i < SHORT_CHUNKS && i * CHUNK_WORDS < n; i++)
		hash = hash_piece(slot, side, i, hash);
	return STACK_HASH(hash);
}

/* --- stacks --- */

/*
 * Returns 0 or a negative errno. The result is cut to 32 bits. Before Linux 6.4 (commit
 * d7ba4cc900bf) the kernel's functions behind the helper return an int. Its sign is then missing in
 * the upper half of the register.
 */
static __always_inline int add_to_map(void *map, const void *key, const void *value)
{
	return (int)bpf_map_update_elem(map, key, value, BPF_NOEXIST);
}

/*
 * The loss that error @err of an update means. @full: the loss if the map is full. An NMI may come
 * while a hash map is being changed. The kernel then refuses the NMI's change: by EBUSY, or since
 * Linux 6.15 by one of the other two.
 */
static __always_inline __u32 loss_of_error(int err, __u32 full)
{
	if (err == -EBUSY || err == -EDEADLK || err == -ETIMEDOUT)
		return LOST_IN_USE;
	return err == -E2BIG ? full : LOST_NO_MEMORY;
}

static __always_inline __u64 hash_of_side(const struct scratch_slot *slot, __u32 side)
{
	return side & 1 ? slot->key.user_stack : slot->key.kernel_stack;
}

static __always_inline void *second_stacks(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&more_stacks, &zero);
}

/*
 * Store piece @i of a stack: in the first level, else in the second; and in the map 'spare' if the
 * kernel's allocator has no memory. Returns 0 also if it is there. A global function. It takes the
 * slot's number, because the maps of 6.1 accept no value from a pointer argument.
 */
__noinline int store_piece(__u32 slot_number, __u32 side, __u32 i)
{
	struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);
	void *more = second_stacks();
	const __u64 *words;
	__u64 key;
	int err;

	if (!slot)
		return 0;
	words = stack_piece_of(slot, side, i);
	key = hash_of_side(slot, side) | i;
	err = add_to_map(&stacks, &key, words);
	if (err == -E2BIG && more)
		err = add_to_map(more, &key, words);
	if (err == -ENOMEM && config.anywhere) {
		err = add_to_map(&spare, &key, words);
		if (!err)
			add_atomically(&trace_state.n_spare, 1);
		else if (err != -EEXIST)
			err = -ENOMEM;
	}
	if (!err)
		add_atomically(&trace_state.n_chunks, 1);
	return err == -EEXIST ? 0 : err;
}

struct storing {
	struct scratch_slot *slot;
	__u32 side;
	int err;
};

static long store_piece_callback(__u64 step, struct storing *s)
{
	if ((__u32)step * CHUNK_WORDS > n_words(&s->slot->walked[s->side & 1]))
		return 1;
	s->err = store_piece(s->slot->number, s->side, (__u32)step);
	return s->err != 0;
}

/*
 * Is there room for all pieces of a stack of @n words? Nobody would read or delete a part of a
 * stack. The number may be negative for a moment: user space subtracts a deleted piece before a
 * program adds it.
 */
static __always_inline bool has_room_for(__u32 n)
{
	const __s64 n_chunks = *(volatile __s64 *)&trace_state.n_chunks;

	return n_chunks + n / CHUNK_WORDS < (__s64)config.max_chunks;
}

/*
 * Store a stack's frames, unless they are stored. The last piece is written last. So if it exists,
 * all pieces exist, or user space has deleted them. Returns 0 or a negative errno.
 */
__noinline int store_side(struct scratch_slot *slot, __u32 side)
{
	struct storing storing = { slot, side, 0 };
	__u64 n, last;
	void *more;

	if (!slot)
		return 0;
	n = n_words(&slot->walked[side & 1]);
	last = hash_of_side(slot, side) | (n / CHUNK_WORDS & CHUNK_NUMBERS);
	more = second_stacks();
	if (!hash_of_side(slot, side) || bpf_map_lookup_elem(&stacks, &last) ||
	    (more && bpf_map_lookup_elem(more, &last)) ||
	    (config.anywhere && bpf_map_lookup_elem(&spare, &last)))
		return 0;
	if (!has_room_for(n))
		return -E2BIG;
	clear_tail(first_word(slot, side), n, CHUNK_WORDS);
	bpf_loop(CHUNKS_PER_STACK, store_piece_callback, &storing, 0);
	return storing.err;
}

static __always_inline int store_stacks(struct scratch_slot *slot)
{
	const int err = store_side(slot, SIDE_KERNEL);

	return err ? err : store_side(slot, SIDE_USER);
}

/* --- rows --- */

/* If the notice cannot be sent, the next hit with a new row tries again. */
static __always_inline void announce_process(__u64 process)
{
	const __u32 i = (__u32)(process * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_BITS));
	__u64 *seen_there = tgid_of_key(process) ? bpf_map_lookup_elem(&seen, &i) : NULL;

	if (!seen_there || *(volatile __u64 *)seen_there == process)
		return;
	if (!send_notice(NOTICE_PROCESS, process))
		*(volatile __u64 *)seen_there = process;
}

/* Add the hit's value to the sum at @to. */
static __always_inline void add_value(__u64 *to, const struct scratch_slot *slot, bool atomic)
{
	if (config.has_sum)
		add_own(to, slot->value, atomic);
}

/* Add to the CPU's own counter of a hot row. False: the CPU has none. */
static __always_inline bool count_hot(const struct scratch_slot *slot, __u32 hot_row, __u32 g,
				      bool atomic)
{
	__u32 index = hot_index(bpf_get_smp_processor_id(), g, hot_row, config.n_hot_rows);
	__u64 *own = bpf_map_lookup_elem(&hot, &index);

	if (!own)
		return false;
	add_own(own, 1, atomic);
	add_value(own + 1, slot, atomic);
	return true;
}

/* Count the slot's hit. Returns the row's number among the hot ones, or 0. A row asks once. */
static __always_inline __u32 count_in(struct stack_row *row, const struct scratch_slot *slot,
				      __u32 g, bool atomic)
{
	__u32 hot_row = *(volatile __u16 *)&row->hot;

	if (hot_row && count_hot(slot, hot_row, g, atomic))
		return hot_row;
	add_value((__u64 *)&((struct summed_row *)row)->sum, slot, true);
	if (__sync_fetch_and_add(&row->count, 1) == HITS_TO_HOT) {
		__u64 hot = __sync_fetch_and_add(&trace_state.n_hot[g & 1], 1) + 1;

		if (hot <= config.n_hot_rows)
			*(volatile __u16 *)&row->hot = (__u16)hot;
	}
	return 0;
}

static __always_inline struct recent_row *recent_row(struct scratch_slot *slot)
{
	const struct stack_key *key = &slot->key;

	return &slot->recent[(key->kernel_stack ^ key->user_stack) / (CHUNK_NUMBERS + 1) %
			     RECENT_ROWS];
}

static __always_inline bool is_recent(const struct recent_row *recent, const struct stack_key *key,
				      __u32 turn)
{
	return recent->turn == turn && recent->key.kernel_stack == key->kernel_stack &&
	       recent->key.user_stack == key->user_stack && recent->key.tgid == key->tgid &&
	       recent->key.flags == key->flags;
}

static __always_inline bool is_filling(__u32 g)
{
	return *(volatile __u64 *)&trace_state.n_rows[g & 1] >= config.rows_to_notice ||
	       *(volatile __u64 *)&trace_state.n_chunks >= config.chunks_to_notice ||
	       *(volatile __u64 *)&trace_state.n_spare >= SPARE_TO_NOTICE;
}

static __always_inline void notify_if_filling(__u32 g)
{
	if (is_filling(g) && !*(volatile __u64 *)&trace_state.is_noticed) {
		*(volatile __u64 *)&trace_state.is_noticed = 1;
		send_notice(NOTICE_FILLING, 0);
	}
}

/* Note which space covers the new row's code: see struct life_count. */
static __always_inline void note_row(const struct scratch_slot *slot)
{
	const __u32 number = slot->file.is_asked ? LIFE_UNTOLD_ROWS : slot->space.number;
	struct life_count *life;

	if (!config.unwind || !slot->key.tgid)
		return;
	life = find_life(bpf_get_current_pid_tgid() >> 32);
	if (life && life->rows != number)
		*(volatile __u32 *)&life->rows =
			life->rows == LIFE_NO_ROWS ? number : LIFE_UNTOLD_ROWS;
}

/* The row of the key in @g, in either level. */
static __always_inline struct stack_row *find_row(const struct stack_key *key, __u32 g)
{
	struct stack_row *row =
		g ? bpf_map_lookup_elem(&counts1, key) : bpf_map_lookup_elem(&counts0, key);
	void *more = row ? NULL : bpf_map_lookup_elem(&more_counts, &g);

	return more ? bpf_map_lookup_elem(more, key) : row;
}

/*
 * Add a row that contains this hit, whose code was there at @first. Returns another CPU's row that
 * came first; NULL: the hit is counted, or lost.
 */
static __always_inline struct stack_row *insert_row(const struct scratch_slot *slot, __u64 first,
						    __u32 g)
{
	void *more = bpf_map_lookup_elem(&more_counts, &g);
	const struct stack_key *key = &slot->key;
	struct summed_row new_row;
	struct stack_row *row;
	int err;

	new_row.row = (struct stack_row){ .count = 1,
					  .first_low = (__u32)first,
					  .first_high = (__u16)(first >> 32) };
	if (config.has_sum)
		new_row.sum = slot->value;
	err = g ? add_to_map(&counts1, key, &new_row) : add_to_map(&counts0, key, &new_row);
	if (err == -E2BIG && more)
		err = add_to_map(more, key, &new_row);
	if (!err) {
		add_atomically(&trace_state.n_rows[g & 1], 1);
		notify_if_filling(g);
		return NULL;
	}
	row = find_row(key, g);
	if (!row)
		note_lost(loss_of_error(err, LOST_COUNTS_FULL));
	return row;
}

/*
 * Count a hit that has no row in the first level: in the second level, or in a new row. A global
 * function; by number as store_piece().
 */
__noinline int create_row(__u32 slot_number, __u32 g)
{
	struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);
	void *more = bpf_map_lookup_elem(&more_counts, &g);
	struct stack_row *row;
	int err;

	if (!slot)
		return 0;
	row = more ? bpf_map_lookup_elem(more, &slot->key) : NULL;
	if (row) {
		count_in(row, slot, g, true);
		return 0;
	}
	/* Frames first, then the row: a row that exists can always be printed. */
	err = store_stacks(slot);
	if (err) {
		note_lost(loss_of_error(err, LOST_STACKS_FULL));
		return 0;
	}
	row = insert_row(slot, bpf_ktime_get_ns(), g);
	if (row)
		count_in(row, slot, g, true);
	announce_process(process_key(slot->key.tgid, slot->key.flags >> KEY_LIFE_SHIFT));
	note_row(slot);
	return 0;
}

/* --- events: see struct event_ring --- */

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
	err = store_stacks(slot);
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
	event->tid = (__u32)current_ids();
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
