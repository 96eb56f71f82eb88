/*
 * bpf/row.bpf.h - from walked stacks to their row.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk.bpf.h"

static __always_inline const __u64 *first_word(const struct scratch_slot *slot, __u32 side)
{
	return &slot->words[side & 1][slot->walked[side & 1].start & 1];
}

/*
 * Over whole groups of words: behind a stack's words there are zeros. Four lanes, so that
 * the multiplications overlap; the seeds are random, so that nobody can prepare two stacks
 * with one hash. Never 0.
 */
#define HASH_GROUP 4

static __always_inline __u64 hash_stack(const struct scratch_slot *slot, __u32 side)
{
	const __u64 *words = first_word(slot, side);
	const __u32 n = n_words(&slot->walked[side & 1]);
	__u64 a = config.hash_seed[0], b = config.hash_seed[1], c = ~a, d = ~b;

	for (__u32 i = 0; i < STACK_WORDS; i += HASH_GROUP) {
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
	a ^= a >> 32;
	return a ? a : 1;
}

__noinline __u64 hash_side(struct scratch_slot *slot, __u32 side)
{
	return slot ? hash_stack(slot, side) : 0;
}

/* Which loss an update's error is. */
static __always_inline __u32 why_full(long err, __u32 full)
{
	return err == -E2BIG ? full : LOST_NO_MEMORY;
}

/*
 * Keep a stack's frames in generation @g, once. The last piece is written last: where it
 * is, all are. Returns 0 or a negative errno.
 */
static __always_inline long store_stack(__u32 g, __u64 hash, const struct scratch_slot *slot,
					enum side side)
{
	const __u64 *words = first_word(slot, side);
	const __u32 n = n_words(&slot->walked[side]);
	struct chunk_key key = { .stack = hash, .index = (n - 1) / CHUNK_WORDS };
	void *stacks = g ? (void *)&stacks1 : (void *)&stacks0;
	long err;

	if (!hash || bpf_map_lookup_elem(stacks, &key))
		return 0;
	for (__u32 i = 0; i < CHUNKS_PER_STACK; i++) {
		if (i * CHUNK_WORDS >= n)
			break;
		key.index = i;
		err = bpf_map_update_elem(stacks, &key, words + i * CHUNK_WORDS, BPF_ANY);
		if (err)
			return err;
		__sync_fetch_and_add(&trace_state.n_chunks[g & 1], 1);
	}
	return 0;
}

static __always_inline void announce_process(__u32 tgid)
{
	const __u32 one = 1;

	if (!tgid || bpf_map_lookup_elem(&seen, &tgid))
		return;
	if (bpf_map_update_elem(&seen, &tgid, &one, BPF_NOEXIST) == 0)
		send_notice(NOTICE_PROCESS, tgid);
}

/* This CPU's count in a row. */
static __always_inline __u64 *lane_of(__u64 *row)
{
	return row + LANE_WORDS * ((bpf_get_smp_processor_id() & config.lane_mask) + 1);
}

/* Frames first, then the row: a row that exists can always be printed. */
static __always_inline void make_row(const struct scratch_slot *slot, __u32 g)
{
	void *counts = g ? (void *)&counts1 : (void *)&counts0;
	const struct stack_key *key = &slot->key;
	__u64 *row;
	long err;

	err = store_stack(g, key->kernel_stack, slot, SIDE_KERNEL);
	if (!err)
		err = store_stack(g, key->user_stack, slot, SIDE_USER);
	if (err) {
		note_lost(why_full(err, LOST_STACKS_FULL));
		return;
	}
	/* Another CPU may create the row first; the look-up then finds theirs. */
	err = bpf_map_update_elem(counts, key, (const void *)zero_row, BPF_NOEXIST);
	row = bpf_map_lookup_elem(counts, key);
	if (!row) {
		note_lost(why_full(err, LOST_COUNTS_FULL));
		return;
	}
	__sync_fetch_and_add(lane_of(row), 1);
	if (!err) {
		__sync_fetch_and_add(&trace_state.n_rows[g & 1], 1);
		announce_process(key->tgid);
	}
	if ((*(volatile __u64 *)&trace_state.n_rows[g & 1] >= config.rows_to_notice ||
	     *(volatile __u64 *)&trace_state.n_chunks[g & 1] >= config.chunks_to_notice) &&
	    !*(volatile __u64 *)&trace_state.is_noticed[g & 1]) {
		*(volatile __u64 *)&trace_state.is_noticed[g & 1] = 1;
		send_notice(NOTICE_FILLING, 0);
	}
}

/* A global function, as hash_side(). By number: 6.1's maps take no values from a pointer argument.
 */
__noinline int create_row(__u32 slot_number, __u32 g)
{
	const struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);

	if (slot)
		make_row(slot, g);
	return 0;
}
