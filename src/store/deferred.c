// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/deferred.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"

void deferred_open(struct deferred_reader *d, struct deferred_piece *pieces,
		   struct deferred_ring *ring)
{
	*d = (struct deferred_reader){ .pieces = pieces, .ring = ring };
	if (d->pieces)
		(void)madvise(d->pieces, DEFERRED_PIECES * sizeof(*d->pieces), MADV_DONTDUMP);
}

void deferred_close(struct deferred_reader *d)
{
	free(d->taken);
	d->taken = NULL;
}

bool deferred_begin(struct deferred_reader *d)
{
	if (!d->pieces)
		return false;
	__atomic_store_n(&d->ring->is_on, 1, __ATOMIC_RELEASE);
	return true;
}

/* The pieces of former hits are cleared. So a piece without its number is not written yet. */
bool deferred_take(struct deferred_reader *d, struct recorded *ret)
{
	if (!d->pieces || __atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) == d->next)
		return false;
	*ret = recorded_at(d->pieces, d->next);
	if (__atomic_load_n(&ret->hit->number, __ATOMIC_ACQUIRE) != d->next + 1)
		return false;

	const struct deferred_taken taken = { d->next, ret->hit->n_pieces, false };

	array_push(d->taken, d->n, d->capacity, taken);
	d->next += taken.n_pieces;
	return true;
}

uint64_t deferred_end(const struct deferred_reader *d)
{
	return d->ring ? __atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) : 0;
}

/* Free the places of the first hits that are done. */
static void free_first_hits(struct deferred_reader *d)
{
	uint64_t tail = d->ring->tail;

	for (; d->n_freed < d->n && d->taken[d->n_freed].is_done; d->n_freed++)
		tail += d->taken[d->n_freed].n_pieces;
	__atomic_store_n(&d->ring->tail, tail, __ATOMIC_RELEASE);
	if (d->n_freed < d->n / 2 || !d->n_freed)
		return;
	d->n -= d->n_freed;
	memmove(d->taken, d->taken + d->n_freed, d->n * sizeof(*d->taken));
	d->n_freed = 0;
}

void deferred_done(struct deferred_reader *d, const struct recorded *hit)
{
	const uint64_t first = hit->hit->number - 1;
	size_t i = d->n_freed;

	while (i < d->n && d->taken[i].first != first)
		i++;
	if (i == d->n)
		return;
	for (uint64_t piece = first; piece < first + d->taken[i].n_pieces; piece++)
		memset(&d->pieces[piece % DEFERRED_PIECES], 0, sizeof(*d->pieces));
	d->taken[i].is_done = true;
	free_first_hits(d);
}

void deferred_pause(struct deferred_reader *d, uint32_t tgid, uint64_t until)
{
	__atomic_store_n(&d->ring->pause_until[deferred_pause_of(tgid)], until, __ATOMIC_RELAXED);
}

uint64_t deferred_n_full(const struct deferred_reader *d)
{
	return d->ring ? __atomic_load_n(&d->ring->n_full, __ATOMIC_RELAXED) : 0;
}
