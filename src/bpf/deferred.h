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
	__u64 n_full; /* hits that found no room: their stacks are cut */
	__u64 pad1[5];
	/* Hits of such processes are not deferred: ns of CLOCK_MONOTONIC, by deferred_pause_of().
	 */
	__u64 pause_until[DEFERRED_PAUSES];
};
_Static_assert(sizeof(struct deferred_ring) == 128 + 8 * DEFERRED_PAUSES, "abi");

static inline __u32 deferred_pause_of(__u32 tgid)
{
	return tgid % DEFERRED_PAUSES;
}

/* 8 bytes of code, for checked steps (bpf/frame.h). */
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
