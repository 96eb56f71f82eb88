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
 * with one hash.
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
	return STACK_HASH(a);
}

__noinline __u64 hash_side(struct scratch_slot *slot, __u32 side)
{
	return slot ? hash_stack(slot, side) : 0;
}

/*
 * Returns 0 or a negative errno: cut to 32 bits, since before Linux 6.4 (commit d7ba4cc900bf)
 * the kernel's functions behind the helper return an int, and leave the upper half of the
 * register without its sign.
 */
static __always_inline int add_to_map(void *map, const void *key, const void *value)
{
	return (int)bpf_map_update_elem(map, key, value, BPF_NOEXIST);
}

/* Which loss an update's error is. */
static __always_inline __u32 why_full(int err, __u32 full)
{
	return err == -E2BIG ? full : LOST_NO_MEMORY;
}

/* One piece in the first level or the second. Returns 0, also when it is there, or an error. */
static __always_inline int store_chunk(void *more, __u64 key, const __u64 *words)
{
	int err = add_to_map(&stacks, &key, words);

	if (err == -E2BIG && more)
		err = add_to_map(more, &key, words);
	if (!err)
		__sync_fetch_and_add(&trace_state.n_chunks, 1);
	return err == -EEXIST ? 0 : err;
}

/*
 * Keep a stack's frames, once. The last piece is written last: where it is, all
 * are, or user space has taken them. Returns 0 or a negative errno.
 */
static __always_inline int store_stack(__u64 hash, const struct scratch_slot *slot, enum side side)
{
	const __u64 *words = first_word(slot, side);
	const __u32 n = n_words(&slot->walked[side]);
	const __u64 last = hash | ((n - 1) / CHUNK_WORDS & CHUNK_NUMBERS);
	const __u32 zero = 0;
	void *more = bpf_map_lookup_elem(&more_stacks, &zero);
	int err;

	if (!hash || bpf_map_lookup_elem(&stacks, &last) ||
	    (more && bpf_map_lookup_elem(more, &last)))
		return 0;
	for (__u32 i = 0; i < CHUNKS_PER_STACK; i++) {
		if (i * CHUNK_WORDS >= n)
			break;
		err = store_chunk(more, hash | i, words + i * CHUNK_WORDS);
		if (err)
			return err;
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

/* A global function, as hash_side(). By number: 6.1's maps take no values from a pointer argument.
 */
__noinline int store_side(__u32 slot_number, __u32 side)
{
	const struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);

	if (!slot)
		return 0;
	return store_stack(side ? slot->key.user_stack : slot->key.kernel_stack, slot, side & 1);
}

static __always_inline int store_stacks(const struct scratch_slot *slot, bool is_new_kernel)
{
	int err = is_new_kernel ? store_side(slot->number, SIDE_KERNEL)
				: store_stack(slot->key.kernel_stack, slot, SIDE_KERNEL);

	if (err)
		return err;
	return is_new_kernel ? store_side(slot->number, SIDE_USER)
			     : store_stack(slot->key.user_stack, slot, SIDE_USER);
}

/* One CPU sees that number of hits, and it asks once. Not for old kernels: they cannot ask. */
static __always_inline void give_counters(struct stack_row *row, __u32 g)
{
	__u64 hot = __sync_fetch_and_add(&trace_state.n_hot[g & 1], 1) + 1;

	if (hot <= config.n_hot_rows)
		*(volatile __u32 *)&row->hot = hot;
}

/*
 * Count a hit in its row. On a CPU's own counter user probes add atomically, since they can be
 * preempted by one another; of the others one at a time runs on a CPU.
 */
static __always_inline void count_in(struct stack_row *row, __u32 g, bool is_preemptible,
				     bool is_new_kernel)
{
	__u32 index = *(volatile __u32 *)&row->hot;
	__u64 *own;

	if (!is_new_kernel) {
		__sync_fetch_and_add(&row->count, 1);
		return;
	}
	if (!index) {
		if (__sync_fetch_and_add(&row->count, 1) == HITS_TO_HOT)
			give_counters(row, g);
		return;
	}
	index = hot_index(bpf_get_smp_processor_id(), g, index, config.n_hot_rows);
	own = bpf_map_lookup_elem(&hot, &index);
	if (!own) /* no such CPU: cannot be */
		__sync_fetch_and_add(&row->count, 1);
	else if (is_preemptible)
		__sync_fetch_and_add(own, 1);
	else
		*own += 1;
}

static __always_inline bool is_filling(__u32 g)
{
	return *(volatile __u64 *)&trace_state.n_rows[g & 1] >= config.rows_to_notice ||
	       *(volatile __u64 *)&trace_state.n_chunks >= config.chunks_to_notice;
}

/* A new row, with this hit in it. Returns an error; -EEXIST: another CPU was quicker. */
static __always_inline int add_row(const struct stack_key *key, void *more, __u32 g)
{
	void *counts = g ? (void *)&counts1 : (void *)&counts0;
	int err = add_to_map(counts, key, &new_row);

	if (err == -E2BIG && more)
		err = add_to_map(more, key, &new_row);
	if (err)
		return err;
	__sync_fetch_and_add(&trace_state.n_rows[g & 1], 1);
	announce_process(key->tgid);
	if (is_filling(g) && !*(volatile __u64 *)&trace_state.is_noticed) {
		*(volatile __u64 *)&trace_state.is_noticed = 1;
		send_notice(NOTICE_FILLING, 0);
	}
	return 0;
}

/* What is not in the first level: count it in the second, or as a new row. */
static __always_inline void make_row(const struct scratch_slot *slot, __u32 g, bool is_new_kernel)
{
	void *counts = g ? (void *)&counts1 : (void *)&counts0;
	void *more = bpf_map_lookup_elem(&more_counts, &g);
	const struct stack_key *key = &slot->key;
	struct stack_row *row = NULL;
	int err;

	if (more)
		row = bpf_map_lookup_elem(more, key);
	if (row) {
		count_in(row, g, true, is_new_kernel);
		return;
	}
	/* Frames first, then the row: a row that exists can always be printed. */
	err = store_stacks(slot, is_new_kernel);
	if (err) {
		note_lost(why_full(err, LOST_STACKS_FULL));
		return;
	}
	err = add_row(key, more, g);
	if (!err)
		return;
	row = bpf_map_lookup_elem(counts, key);
	if (!row && more)
		row = bpf_map_lookup_elem(more, key);
	if (row)
		count_in(row, g, true, is_new_kernel);
	else
		note_lost(why_full(err, LOST_COUNTS_FULL));
}

/* As store_side(). */
__noinline int create_row(__u32 slot_number, __u32 g)
{
	const struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);

	if (slot)
		make_row(slot, g, true);
	return 0;
}
