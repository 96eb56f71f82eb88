/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/recorded.h - read a deferred hit (bpf/deferred.h) in the ring. Its stack has bytes of the
 * traced process, which may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/deferred.h"

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

static inline uint32_t n_kernel_words(const struct deferred_hit *hit)
{
	return least_number(hit->n_kernel, SHORT_WORDS);
}

static inline uint32_t n_user_words(const struct deferred_hit *hit)
{
	const uint32_t n = least_number(hit->n_user, STACK_MAX_FRAMES);

	return n ? n : 1;
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
	copy_words(r, 0, n_kernel_words(r->hit), to);
	return n_kernel_words(r->hit);
}

/*
 * Copy the words of the user's stack up to the frame where the walk ended, with that frame's.
 * Returns how many: at least 1, and at most STACK_MAX_FRAMES. The program may have put its mark
 * over the last word, which the registers give.
 */
static inline size_t recorded_user_words(const struct recorded *r, uint64_t *to)
{
	const struct deferred_hit *hit = r->hit;
	const uint32_t n = n_user_words(hit);
	const uint64_t pc = hit->regs.pc;

	copy_words(r, deferred_blocks(hit->n_kernel), n - 1, to);
	if (n == 1)
		to[0] = pc < LEAST_CODE ? pc | STACK_WORD_PLAIN : pc;
	else
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
