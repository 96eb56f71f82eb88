/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/middles.h - which code jumps into the middle of a function? Its own cold part does. So
 * does assembly that shares code. In glibc:
 *
 *	mempcpy:  result = to + n;  goto inner
 *	memmove:  result = to;  inner: ...
 *
 * Then an exit of memmove is one of mempcpy, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
 * Find the jumps with a displacement that lead into the functions at @entries (@n of them,
 * ascending), behind their entries, from outside of each function. Reads all code once. Code that
 * neither a symbol nor .eh_frame covers is left out: nobody knows where its instructions begin.
 */
void middles_find(struct image *im, const uint64_t *entries, size_t n, struct middles *ret);
void middles_fini(struct middles *m);

/* The number of the first jump to @vaddr or behind it; @m->n: there is none. */
size_t middles_from(const struct middles *m, uint64_t vaddr);
