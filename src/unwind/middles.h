/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/middles.h - which code jumps into the middle of a function? Its own cold part does. So
 * does assembly that shares code. In glibc:
 *
 *	mempcpy:  result = to + n;  goto inner
 *	memmove:  result = to;  inner: ...
 *
 * Then an exit of memmove is one of mempcpy, too. And a loop may begin behind the first
 * instructions, which match/place.c skips.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_range;
struct image;

/* A jump or a call, which execution need not come to. */
struct middle {
	uint64_t to, from; /* addresses as linked; @from is the instruction's */
};

/* A zeroed one is empty. */
struct middles {
	struct middle *jumps; /* by rising @to */
	size_t n, capacity;
};

/* The end of the function that begins at @vaddr, by symbols or .eh_frame. 0: it is not known. */
uint64_t function_end_of(struct image *im, uint64_t vaddr);

/*
 * Find the jumps with a displacement that lead into the @n @functions, behind their beginnings,
 * from outside of each function. Reads all code once. Code that neither a symbol nor .eh_frame
 * covers is left out: nobody knows where its instructions begin. Sorts @functions, and moves the
 * ends of those that lie in others.
 *
 * @is_cautious: jumps backwards from the function's own code are found, too. And bytes that only
 * look like a jump count, so none is missed.
 */
void middles_find(struct image *im, struct code_range *functions, size_t n, bool is_cautious,
		  struct middles *ret);
void middles_fini(struct middles *m);

/* The number of the first jump to @vaddr or behind it; @m->n: there is none. */
size_t middles_from(const struct middles *m, uint64_t vaddr);
