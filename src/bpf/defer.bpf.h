/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/defer.bpf.h - defer a hit: record the registers and the stack of a walk that lacks a mapping
 * or a table (bpf/deferred.h). Other hits run none of this.
 */
#pragma once

#include "bpf/row.bpf.h"
#include "bpf/user_stack.bpf.h"

static __always_inline struct deferred_piece *deferred_piece_at(__u64 number)
{
	const __u32 i = (__u32)number & (DEFERRED_PIECES - 1);

	return bpf_map_lookup_elem(&deferred, &i);
}

static long note_stack_end(struct task_struct *task, struct vm_area_struct *vma,
			   struct scratch_slot **at)
{
	(void)task;
	(*at)->word = vma->vm_end;
	return 0;
}

/* The first thread's stack has arguments and environment above this address. 0: not known. */
__noinline __u64 first_stack_start(void)
{
	return config.unwind ? memory_member(config.at.start_stack) : 0;
}

/*
 * The first byte to record. It lies below the stack pointer, but in the same page. An epilogue
 * moves the stack pointer up, and CFI may still have a register's place below it.
 */
static __always_inline __u64 first_recorded(const struct scratch_slot *slot)
{
	const __u64 sp = slot->regs.of[UNWIND_REG_SP];
	const __u64 in_page = sp % (1UL << PAGE_SHIFT);

	return sp - (in_page < DEFERRED_BELOW_SP ? in_page : DEFERRED_BELOW_SP);
}

/*
 * Bytes of the stack from @from on, at most DEFERRED_STACK_BYTES. A first thread's begins at argc,
 * another one's at the end of its mapping.
 */
__noinline int deferred_stack_bytes(struct scratch_slot *slot, __u64 from)
{
	__u64 n = first_stack_start() + sizeof(__u64) - from;

	if (!slot)
		return 0;
	if (n < DEFERRED_STACK_BYTES)
		return (int)n;
	slot->word = 0;
	if (config.unwind && may_find_vma(slot))
		(void)bpf_find_vma(bpf_get_current_task_btf(), from, note_stack_end, &slot, 0);
	n = slot->word - from;
	return n < DEFERRED_STACK_BYTES ? (int)n : (int)DEFERRED_STACK_BYTES;
}

/* Copy block @block of @side to block @at of the hit that begins with piece @first. */
__noinline int record_block(struct scratch_slot *slot, __u64 first, __u32 block, __u32 at)
{
	struct deferred_piece *piece;
	const __u64 *from;
	__u64 *to;

	if (!slot)
		return 0;
	at = deferred_block_at(at);
	piece = deferred_piece_at(first + at / DEFERRED_PIECE_WORDS);
	if (!piece)
		return 0;
	from = stack_piece_of(slot, block >> 16, block & 0xffff);
	to = &piece->words[at & (DEFERRED_PIECE_WORDS - CHUNK_WORDS)];
	for (int i = 0; i < CHUNK_WORDS; i++)
		to[i] = from[i];
	return 0;
}

/*
 * Read the stack at @at into piece @number, up to the end of the piece or to @end. Returns the
 * bytes; 0: they are not readable.
 */
__noinline int record_stack_piece(__u64 number, __u64 at, __u64 end)
{
	struct deferred_piece *piece = deferred_piece_at(number);
	__u64 n = DEFERRED_PIECE_BYTES - at % DEFERRED_PIECE_BYTES;

	if (!piece)
		return 0;
	if (n > end - at)
		n = end - at;
	barrier_var(n);
	if (n > DEFERRED_PIECE_BYTES)
		return 0;
	return bpf_probe_read_user(piece, (__u32)n, (void *)at) ? 0 : (int)n;
}

/*
 * Record code @i of the hit that begins with piece @first: the bytes before the return address of
 * the frame at slot->chain_fp, in the chain of frame pointers. Returns 1 at its end.
 */
__noinline int record_code(struct scratch_slot *slot, __u64 first, __u32 i)
{
	struct deferred_hit *hit = (void *)deferred_piece_at(first);
	struct {
		__u64 fp, pc;
	} frame;
	__u64 at;

	if (!slot || !hit || i >= DEFERRED_CODES)
		return 1;
	at = slot->chain_fp;
	if (bpf_probe_read_user(&frame, sizeof(frame), (void *)at))
		return 1;
	slot->chain_fp = frame.fp;
	if (bpf_probe_read_user(&slot->word, sizeof(slot->word),
				(void *)(frame.pc - sizeof(slot->word))) == 0)
		hit->codes[i] = (struct deferred_code){ frame.pc - sizeof(slot->word), slot->word };
	return frame.fp <= at;
}

struct recording {
	struct scratch_slot *slot;
	__u64 first;
	__u64 at; /* stack: the next byte */
	__u64 end;
	__u32 n_kernel; /* blocks */
};

static long record_block_callback(__u64 i, struct recording *r)
{
	const __u32 block =
		(__u32)i < r->n_kernel ? (__u32)i : SIDE_USER << 16 | ((__u32)i - r->n_kernel);

	record_block(r->slot, r->first, block, (__u32)i);
	return 0;
}

static long record_code_callback(__u64 i, struct recording *r)
{
	int is_over = record_code(r->slot, r->first, (__u32)i);

	barrier_var(is_over); /* newer compilers know its values, verifiers do not */
	return is_over != 0;
}

static long record_stack_callback(__u64 i, struct recording *r)
{
	const int n = record_stack_piece(r->first + i, r->at, r->end);

	r->at += (__u32)n;
	return n == 0;
}

/*
 * Take @n adjacent pieces. Returns the number of the first one, from 1; 0: there is no room. Other
 * CPUs may take some meanwhile, a few times.
 */
#define MOST_TAKE_TRIES 4

static __always_inline __u64 take_pieces(__u32 n)
{
	struct deferred_ring *ring = &deferred_ring;
	__u64 head, tail;

	for (int i = 0; i < MOST_TAKE_TRIES; i++) {
		head = *(volatile __u64 *)&ring->head;
		tail = *(volatile __u64 *)&ring->tail;
		if (head - tail + n > DEFERRED_PIECES)
			break;
		if (__sync_val_compare_and_swap(&ring->head, head, head + n) == head)
			return head + 1;
	}
	add_atomically(&ring->n_full, 1);
	return 0;
}

/* Fill in all but the number. */
static __always_inline void describe_deferred(const struct scratch_slot *slot,
					      struct deferred_hit *hit)
{
	const struct walked *walked = &slot->walked[SIDE_USER];

	hit->time = bpf_ktime_get_ns();
	hit->key = slot->key;
	hit->key.user_stack = 0;
	hit->regs = slot->regs;
	hit->rule = slot->rule;
	hit->stack_from = first_recorded(slot);
	hit->n_user = (__u32)slot->deferred;
	hit->n_cut = walked->n - 1;
	hit->cut_mark = walked->mark;
	hit->is_at_entry = (__u32)slot->is_at_entry;
	if (config.has_sum)
		hit->value = slot->value;
}

/* Record the words of both stacks, code, and the stack itself. */
static __always_inline void record_hit(struct scratch_slot *slot, struct deferred_hit *hit,
				       __u64 number, __u32 bytes)
{
	const __u32 n_kernel = deferred_blocks(hit->n_kernel);
	const __u32 n_blocks = n_kernel + deferred_blocks(hit->n_user);
	struct recording r = { .slot = slot, .first = number - 1, .n_kernel = n_kernel };

	bpf_loop(n_blocks, record_block_callback, &r, 0);
	slot->chain_fp = slot->regs.of[UNWIND_REG_FP];
	bpf_loop(DEFERRED_CODES, record_code_callback, &r, 0);
	r.first += deferred_word_pieces(n_blocks);
	r.at = hit->stack_from;
	r.end = r.at + bytes;
	bpf_loop(DEFERRED_STACK_PIECES, record_stack_callback, &r, 0);
	hit->stack_bytes = (__u32)(r.at - hit->stack_from);
}

/*
 * Defer the hit in the slot, whose walk has ended. Returns 1, with its number in slot->deferred; or
 * 0 if the hit must be counted as it is. By number as store_piece().
 */
__noinline int defer_hit(__u32 slot_number, __u32 turn)
{
	struct scratch_slot *slot = bpf_map_lookup_elem(&scratch, &slot_number);
	struct deferred_ring *ring = &deferred_ring;
	struct deferred_hit *hit;
	__u32 n_kernel, n_before, hit_pieces, bytes;
	__u64 number, from;

	if (!slot || !config.unwind || !ring->is_on || is_deferral_paused(slot->key.tgid))
		return 0;
	/* An event's kernel stack is stored as that of all others. */
	n_kernel = slot->key.kernel_stack && config.mode == MODE_STACKS
			   ? (__u32)n_words(&slot->walked[SIDE_KERNEL])
			   : 0;
	from = first_recorded(slot);
	bytes = (__u32)deferred_stack_bytes(slot, from);
	n_before = deferred_word_pieces(deferred_blocks(n_kernel) +
					deferred_blocks((__u32)slot->deferred));
	hit_pieces = n_before + deferred_stack_pieces(from, bytes);
	number = take_pieces(hit_pieces);
	hit = number ? (void *)deferred_piece_at(number - 1) : NULL;
	if (!hit)
		return 0;
	hit->turn = turn;
	hit->n_kernel = n_kernel;
	hit->n_pieces = hit_pieces;
	describe_deferred(slot, hit);
	record_hit(slot, hit, number, bytes);
	slot->file.is_asked = 1; /* no published list covers its code */
	note_row(slot);
	announce_process(process_key(hit->key.tgid, hit->key.flags >> KEY_LIFE_SHIFT));
	/* From here on, the hit is stored and counted with the kernel's stack alone. */
	slot->walked[SIDE_USER].n = 0;
	slot->key.user_stack = 0;
	slot->deferred = number;
	barrier();
	*(volatile __u64 *)&hit->number = number;
	/* While the ring has hits, user space looks by itself. */
	if (*(volatile __u64 *)&ring->tail == number - 1)
		send_notice(NOTICE_DEFERRED, 0);
	return 1;
}

/* Defer the hit if its walk lacked a mapping or a table. */
static __always_inline bool is_deferred(struct scratch_slot *slot, __u32 turn)
{
	return config.unwind && slot->deferred && defer_hit((__u32)slot->number, turn);
}
