/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/recorded.h - read a deferred hit (bpf/deferred.h) in the ring. Its stack has bytes of the
 * traced process, which may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/deferred.h"

struct recorded {
	const struct deferred_piece *pieces; /* of the whole ring */
	const struct deferred_hit *hit;
};

/* The hit whose first piece is @number, counted from 0. It must have been written. */
struct recorded recorded_at(const struct deferred_piece *pieces, uint64_t number);

/* Read the word at address @at of the stack. False: it was not recorded. */
bool recorded_read(const struct recorded *r, uint64_t at, uint64_t *ret);

/* Copy the words of the kernel's stack. Returns how many, at most SHORT_WORDS. */
size_t recorded_kernel_words(const struct recorded *r, uint64_t *to);

/*
 * Copy the words of the user's stack up to the frame where the walk ended, with that frame's.
 * Returns how many: at least 1, and at most STACK_MAX_FRAMES.
 */
size_t recorded_user_words(const struct recorded *r, uint64_t *to);

/* The words that the program would have stored: the stack is cut, with a mark. Returns how many. */
size_t recorded_cut_words(const struct recorded *r, uint64_t to[STACK_WORDS]);
