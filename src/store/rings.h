/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/rings.h - what the programs send through rings: notices, in a map of type
 * BPF_MAP_TYPE_RINGBUF, and deferred hits (bpf/deferred.h).
 *
 * The bytes of a deferred hit stay in the ring until it is done. They are other people's: they are
 * in no core dump, and are cleared before their place is free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"
#include "bpf/deferred.h"

/*
 * The ring in memory, as the kernel maps it. Positions count bytes and never go back. A record is a
 * header of 8 bytes, the data, and padding to a multiple of 8.
 */
struct notices {
	int fd; /* the object's. For epoll: readable while a notice waits */
	size_t page;
	uint64_t *consumer;       /* position of the first record that is not read; ours */
	const uint64_t *producer; /* position behind the last record; the kernel's */
	const uint8_t *data;      /* twice in a row, so that no record is in two parts */
	uint64_t mask;            /* size of the data, a power of two, - 1 */
};

/* Takes one notice, lent during the call. False: the reading ends with it. */
typedef bool notice_take(void *context, const struct notice *notice);

/* Map the ring of notices. @object must outlive the result. Errors: from mapping. */
must_check int notices_open(const struct object *object, struct notices **ret, struct error *e);
void notices_close(struct notices *n);

/*
 * Call @take for the notices that are in the ring now. Those that come meanwhile wait for the next
 * reading, or a reader that is slower than the programs would never return. (ring_buffer__consume()
 * of libbpf does not, and ring_buffer__consume_n() needs libbpf 1.5.)
 */
void notices_read(struct notices *n, notice_take *take, void *context);

/* The position behind the newest notice. */
uint64_t notices_end(const struct notices *n);

/* Are all notices before position @end read? */
bool notices_are_read(const struct notices *n, uint64_t end);

/* The number of notices that wait. */
size_t notices_n_waiting(const struct notices *n);

/* --- deferred hits --- */

struct deferred_reader {
	struct deferred_piece *pieces; /* NULL: no hits are deferred */
	struct deferred_ring *ring;
	uint64_t next; /* the first piece of the next hit */
};

/* From now on the programs defer hits. Both are those of object_maps(), and must outlive @d. */
void deferred_begin(struct deferred_reader *d, struct deferred_piece *pieces,
		    struct deferred_ring *ring);

/*
 * Take the next hit. False: no further one is complete. Hits are complete in the ring's order, and
 * all are when no program runs that has begun one.
 */
bool deferred_take(struct deferred_reader *d, struct recorded *ret);

/* The number of the last piece that hits have taken so far. */
uint64_t deferred_end(const struct deferred_reader *d);

/* Clear the hit, and free its place. Each hit that was taken needs this once, in any order. */
void deferred_done(struct deferred_reader *d, const struct recorded *hit);

/* Let hits of process @tgid, and of those that share its entry, be cut until @until, in ns. */
void deferred_pause(struct deferred_reader *d, uint32_t tgid, uint64_t until);

/* Hits that found the ring full, so that their stacks were cut. */
uint64_t deferred_n_full(const struct deferred_reader *d);
