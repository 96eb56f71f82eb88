// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/rings.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static void notices_closep(struct notices **n)
{
	notices_close(*n);
}

int notices_open(const struct object *object, struct notices **ret, struct error *e)
{
	cleanup(notices_closep) struct notices *n = xcalloc(1, sizeof(*n));
	void *memory;

	n->fd = object_maps(object)->wake_fd;
	n->page = (size_t)sysconf(_SC_PAGESIZE);
	n->mask = WAKE_BYTES - 1;
	memory = mmap(NULL, n->page, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, 0);
	if (memory == MAP_FAILED)
		return error_errno(e, "map the ring buffer");
	n->consumer = memory;
	/* The kernel lets us write to the first page only. */
	memory = mmap(NULL, n->page + 2 * WAKE_BYTES, PROT_READ, MAP_SHARED, n->fd, (off_t)n->page);
	if (memory == MAP_FAILED)
		return error_errno(e, "map the ring buffer");
	n->producer = memory;
	n->data = (const uint8_t *)memory + n->page;
	*ret = TAKE(n);
	return 0;
}

void notices_close(struct notices *n)
{
	if (!n)
		return;
	if (n->consumer)
		(void)munmap(n->consumer, n->page);
	if (n->producer)
		(void)munmap((void *)n->producer, n->page + 2 * WAKE_BYTES);
	free(n);
}

/* Bytes of a record whose data has @n bytes. */
static uint64_t record_bytes(uint32_t n)
{
	return ((uint64_t)n + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

void notices_read(struct notices *n, notice_take *take, void *context)
{
	const uint64_t until = notices_end(n);
	uint64_t at = *n->consumer;
	bool goes_on = true;

	while (goes_on && at < until) {
		const uint8_t *record = n->data + (at & n->mask);
		const uint32_t header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		const uint32_t bytes = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT) /* a program is writing it */
			return;
		if (!(header & BPF_RINGBUF_DISCARD_BIT) && bytes >= sizeof(struct notice))
			goes_on = take(context, (const void *)(record + BPF_RINGBUF_HDR_SZ));
		at += record_bytes(bytes);
		__atomic_store_n(n->consumer, at, __ATOMIC_RELEASE);
	}
}

uint64_t notices_end(const struct notices *n)
{
	return __atomic_load_n(n->producer, __ATOMIC_ACQUIRE);
}

bool notices_are_read(const struct notices *n, uint64_t end)
{
	return *n->consumer >= end;
}

size_t notices_n_waiting(const struct notices *n)
{
	return (size_t)((notices_end(n) - *n->consumer) / record_bytes(sizeof(struct notice)));
}

/* --- deferred hits --- */

void deferred_begin(struct deferred_reader *d, struct deferred_piece *pieces,
		    struct deferred_ring *ring)
{
	*d = (struct deferred_reader){ .pieces = pieces, .ring = ring };
	(void)madvise(pieces, DEFERRED_PIECES * sizeof(*pieces), MADV_DONTDUMP);
	__atomic_store_n(&ring->is_on, 1, __ATOMIC_RELEASE);
}

/* The pieces of former hits are cleared. So a piece without its number is not written yet. */
bool deferred_take(struct deferred_reader *d, struct recorded *ret)
{
	if (!d->pieces || __atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) == d->next)
		return false;
	*ret = recorded_at(d->pieces, d->next);
	if (__atomic_load_n(&ret->hit->number, __ATOMIC_ACQUIRE) != d->next + 1)
		return false;
	d->next += ret->hit->n_pieces;
	return true;
}

uint64_t deferred_end(const struct deferred_reader *d)
{
	return d->ring ? __atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) : 0;
}

static struct deferred_hit *hit_at(const struct deferred_reader *d, uint64_t first)
{
	return (void *)&d->pieces[first % DEFERRED_PIECES];
}

/* Until its place is free, a cleared hit keeps the number of its pieces. */
void deferred_done(struct deferred_reader *d, const struct recorded *hit)
{
	const uint64_t first = hit->hit->number - 1;
	uint64_t tail = d->ring->tail;
	uint32_t n = hit->hit->n_pieces;

	for (uint64_t piece = first; piece < first + n; piece++)
		memset(&d->pieces[piece % DEFERRED_PIECES], 0, sizeof(*d->pieces));
	hit_at(d, first)->n_pieces = n;
	for (; tail < d->next && !hit_at(d, tail)->number; tail += n) {
		n = hit_at(d, tail)->n_pieces;
		hit_at(d, tail)->n_pieces = 0;
	}
	__atomic_store_n(&d->ring->tail, tail, __ATOMIC_RELEASE);
}

void deferred_pause(struct deferred_reader *d, uint32_t tgid, uint64_t until)
{
	__atomic_store_n(&d->ring->pause_until[deferred_pause_of(tgid)], until, __ATOMIC_RELAXED);
}

uint64_t deferred_n_full(const struct deferred_reader *d)
{
	return d->ring ? __atomic_load_n(&d->ring->n_full, __ATOMIC_RELAXED) : 0;
}
