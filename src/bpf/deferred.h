/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/deferred.h - hits whose user stack the programs could not walk to its end, because they know
 * no mapping or no table there yet. User space walks the rest (tables/late.h). Both sides include
 * this one definition.
 *
 * The ring has pieces. A hit takes adjacent ones, modulo DEFERRED_PIECES:
 *
 *	struct deferred_hit    in DEFERRED_HEAD_WORDS words
 *	blocks of words        of the kernel's stack, then of the user's: deferred_blocks() each
 *	pieces of stack        the first up to a multiple of DEFERRED_PIECE_BYTES, so that no piece
 *	                       has bytes of two pages
 */
#pragma once

#ifndef __bpf__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

#include "arch/user_step.h"
#include "bpf/abi.h"

#define DEFERRED_PIECE_WORDS 128U
#define DEFERRED_PIECE_BYTES 1024U
#define DEFERRED_PIECES 4096U    /* power of two: 4 MiB */
#define DEFERRED_MOST_PIECES 64U /* more than any hit takes */
#define DEFERRED_HEAD_WORDS 112U
#define DEFERRED_CODES 32U
#define DEFERRED_PAUSES 512U
#define DEFERRED_STACK_BYTES (16384U + DEFERRED_BELOW_SP) /* of a hit, at most */
#define DEFERRED_BELOW_SP 128U                            /* of these, below the stack pointer */
#define DEFERRED_STACK_PIECES (DEFERRED_STACK_BYTES / DEFERRED_PIECE_BYTES + 2)

struct deferred_piece {
	__u64 words[DEFERRED_PIECE_WORDS];
};
_Static_assert(sizeof(struct deferred_piece) == DEFERRED_PIECE_BYTES, "abi");

/*
 * The whole ring's state. A program moves @head by compare-and-swap, fills in its pieces, and
 * writes the hit's number last. User space clears the pieces, then moves @tail.
 */
struct deferred_ring {
	__u64 head; /* pieces taken */
	__u64 pad0[7];
	__u64 tail; /* pieces that user space has freed */
	__u64 is_on;
	__u64 n_full; /* hits that found no room, or a pause: their stacks are cut */
	__u64 pad1[5];
	__u64 pause_until[DEFERRED_PAUSES]; /* defer no hit before, ns; by deferred_pause_of() */
};
_Static_assert(sizeof(struct deferred_ring) == 128 + 8 * DEFERRED_PAUSES, "abi");

static inline __u32 deferred_pause_of(__u32 tgid)
{
	return tgid % DEFERRED_PAUSES;
}

/* 8 bytes of code, for checked steps (bpf/user_step.h). */
struct deferred_code {
	__u64 at; /* 0: nothing is recorded */
	__u64 bytes;
};

struct deferred_hit {
	__u64 number;            /* of its first piece, from 1; written last */
	__u64 time;              /* ns of CLOCK_MONOTONIC */
	struct stack_key key;    /* without the hash of the user stack */
	struct unwind_regs regs; /* of the frame that has no rule */
	struct unwind_rule rule; /* by which the walk came there; 0: it began there */
	__u64 stack_from;        /* address of the first byte recorded */
	__s64 value;             /* with trace_config.has_sum */
	__u32 stack_bytes;       /* recorded */
	__u32 turn;
	__u32 n_pieces;
	__u32 n_kernel; /* words of the kernel's stack, with its mark */
	__u32 n_user;   /* words of the user's stack up to the frame, with the frame's */
	__u32 n_cut;    /* those of them that are right if the stack is cut there, */
	__u32 cut_mark; /* and the mark behind them */
	__u32 is_at_entry;
	struct deferred_code codes[DEFERRED_CODES]; /* see record_code() */
};
_Static_assert(sizeof(struct deferred_hit) <= sizeof(__u64) * DEFERRED_HEAD_WORDS, "abi");

/* Blocks of CHUNK_WORDS words that a stack of @n words takes. */
static inline __u32 deferred_blocks(__u32 n)
{
	return (n + CHUNK_WORDS - 1) / CHUNK_WORDS;
}

/* The index of block @i's first word, counted from the hit's first word. */
static inline __u32 deferred_block_at(__u32 i)
{
	return DEFERRED_HEAD_WORDS + i * CHUNK_WORDS;
}

/* Pieces of the hit and of @n_blocks blocks. */
static inline __u32 deferred_word_pieces(__u32 n_blocks)
{
	return (deferred_block_at(n_blocks) + DEFERRED_PIECE_WORDS - 1) / DEFERRED_PIECE_WORDS;
}

/* Pieces for @bytes of stack from address @from on. */
static inline __u32 deferred_stack_pieces(__u64 from, __u32 bytes)
{
	return (__u32)((from % DEFERRED_PIECE_BYTES + bytes + DEFERRED_PIECE_BYTES - 1) /
		       DEFERRED_PIECE_BYTES);
}

#ifndef __bpf__

/* How user space reads a hit in the ring. The stack is the traced process's: it may be anything. */
struct recorded {
	const struct deferred_piece *pieces; /* of the whole ring */
	const struct deferred_hit *hit;
};

static inline const struct deferred_piece *piece_number(const struct recorded *r, uint64_t i)
{
	return &r->pieces[(r->hit->number - 1 + i) % DEFERRED_PIECES];
}

/* The hit whose first piece is @number, counted from 0. It must have been written. */
static inline struct recorded recorded_at(const struct deferred_piece *pieces, uint64_t number)
{
	return (struct recorded){ pieces, (const void *)&pieces[number % DEFERRED_PIECES] };
}

static inline uint32_t least_number(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The first byte of the stack is the first of its piece. */
static inline const uint8_t *stack_byte(const struct recorded *r, uint64_t offset)
{
	const struct deferred_hit *hit = r->hit;
	const uint32_t n_blocks = deferred_blocks(hit->n_kernel) + deferred_blocks(hit->n_user);
	const uint64_t skipped = hit->stack_from % DEFERRED_PIECE_BYTES;
	uint64_t i = (offset + skipped) / DEFERRED_PIECE_BYTES;
	uint64_t in = i ? (offset + skipped) % DEFERRED_PIECE_BYTES : offset;

	return (const uint8_t *)piece_number(r, deferred_word_pieces(n_blocks) + i)->words + in;
}

/* Read the word at address @at of the stack. False: it was not recorded. */
static inline bool recorded_read(const struct recorded *r, uint64_t at, uint64_t *ret)
{
	const uint64_t offset = at - r->hit->stack_from;
	uint8_t bytes[sizeof(*ret)];

	if (r->hit->stack_bytes < sizeof(*ret) || offset > r->hit->stack_bytes - sizeof(*ret))
		return false;
	for (size_t i = 0; i < sizeof(*ret); i++)
		bytes[i] = *stack_byte(r, offset + i);
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

/* Read the code at @at. False: it was not recorded. */
static inline bool recorded_code(const struct recorded *r, uint64_t at, uint64_t *ret)
{
	for (size_t i = 0; i < DEFERRED_CODES; i++) {
		*ret = r->hit->codes[i].bytes;
		if (at && r->hit->codes[i].at == at)
			return true;
	}
	return false;
}

static inline void copy_words(const struct recorded *r, uint32_t first_block, uint32_t n,
			      uint64_t *to)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = deferred_block_at(first_block) + i;

		to[i] = piece_number(r, at / DEFERRED_PIECE_WORDS)
				->words[at % DEFERRED_PIECE_WORDS];
	}
}

/* Copy the words of the kernel's stack. Returns how many, at most SHORT_WORDS. */
static inline size_t recorded_kernel_words(const struct recorded *r, uint64_t *to)
{
	const uint32_t n = least_number(r->hit->n_kernel, SHORT_WORDS);

	copy_words(r, 0, n, to);
	return n;
}

/*
 * Copy the words of the user's stack up to the frame where the walk ended, with that frame's.
 * Returns how many: at least 1, and at most STACK_MAX_FRAMES. The program may have put its mark
 * over the last word, which the registers give.
 */
static inline size_t recorded_user_words(const struct recorded *r, uint64_t *to)
{
	const struct deferred_hit *hit = r->hit;
	const uint32_t n = least_number(hit->n_user, STACK_MAX_FRAMES);
	const uint64_t pc = hit->regs.pc;

	if (n <= 1) {
		to[0] = pc < LEAST_CODE ? pc | STACK_WORD_PLAIN : pc;
		return 1;
	}
	copy_words(r, deferred_blocks(hit->n_kernel), n - 1, to);
	to[n - 1] = pc | (hit->regs.is_exact ? STACK_WORD_EXACT : 0);
	return n;
}

/* The words that the program would have stored: the stack is cut, with a mark. Returns how many. */
static inline size_t recorded_cut_words(const struct recorded *r, uint64_t to[STACK_WORDS])
{
	const uint32_t n = least_number(r->hit->n_cut, (uint32_t)recorded_user_words(r, to));

	to[n] = r->hit->cut_mark;
	return n + 1;
}

#endif
