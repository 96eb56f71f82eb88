/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/deferred.h - take the deferred hits (bpf/deferred.h) out of their ring.
 *
 * The bytes stay in the ring until the hit is done. They are other people's: they are in no core
 * dump, and are cleared before their place is free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/recorded.h"

/* A hit that was taken and is not freed. */
struct deferred_taken {
	uint64_t first; /* its first piece, counted from 0 */
	uint32_t n_pieces;
	bool is_done;
};

struct deferred_reader {
	struct deferred_piece *pieces; /* NULL: these programs defer no hits */
	struct deferred_ring *ring;
	uint64_t next;                /* the first piece of the next hit */
	struct deferred_taken *taken; /* in the ring's order; the first ones are freed */
	size_t n_freed, n, capacity;
};

/* As object_deferred() and object_deferred_ring() give them; both must outlive the reader. */
void deferred_open(struct deferred_reader *d, struct deferred_piece *pieces,
		   struct deferred_ring *ring);
void deferred_close(struct deferred_reader *d);

/* From now on the programs defer hits. False: they cannot. */
bool deferred_begin(struct deferred_reader *d);

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
