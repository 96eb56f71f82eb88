/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/deferral.h - hits that the programs have deferred (bpf/deferred.h): from the ring, by the
 * model's mappings and the unwinder's walk, to the tool's count.
 *
 * Each hit is given to the tool once. If its walk takes too long, the tool gets it as the program
 * would have counted it: cut, with a mark.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "bpf/deferred.h"
#include "processes/processes.h"
#include "tables/unwinder.h"

/* --- the ring --- */

/*
 * The bytes of a hit stay in the ring until it is done. They are other people's: they are in no
 * core dump, and are cleared before their place is free.
 */
struct deferred_reader {
	struct deferred_piece *pieces;
	struct deferred_ring *ring; /* NULL: no hits are deferred */
	uint64_t next;              /* the first piece of the next hit */
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

/* --- from the ring to the count --- */

/* Count a hit. Its user stack has @n @words. */
typedef void deferral_give(void *context, const struct recorded *hit, const uint64_t *words,
			   size_t n);

/* The budget of some processes: those with the same deferred_pause_of(). */
struct late_pace {
	uint64_t window; /* ns: begin of the present window */
	uint32_t n;      /* used in this window */
};

struct deferral {
	/* The caller's, before deferral_begin(): */
	deferral_give *give;
	void (*hear)(void *context); /* read all records of processes so far */
	void *context;
	int asked;            /* a descriptor: once it is readable, nobody waits for walks */
	uint32_t most_frames; /* of a user stack */
	uint64_t patience_ns; /* the longest wait for a walk */

	uint32_t hold; /* the caller may set it back: see deferral_settle() */

	struct deferred_reader reader;
	struct unwinder *unwinder;
	struct processes *processes;
	struct late_job **hits; /* in the ring's order */
	size_t n, capacity;
	struct late_pace paces[DEFERRED_PAUSES];
	bool is_on, is_busy;
	uint64_t n_walked, n_whole, n_late; /* for --debug */
};

/* Begin, if the programs can defer hits. All are lent. @unwinder NULL: there are no walks. */
void deferral_begin(struct deferral *d, const struct object *object, struct unwinder *unwinder,
		    struct processes *processes);

/*
 * Take new hits, have them walked, and give those that are ready. Call it often. Not within itself.
 */
void deferral_serve(struct deferral *d);

/*
 * No program runs that has begun a hit of turn @turn or before (struct trace_state). Give all these
 * hits. Waits for their walks for at most @most_ns, or until @asked. Gives no later hit until
 * @hold is 0. @turn 0: give all.
 */
void deferral_settle(struct deferral *d, uint32_t turn, uint64_t most_ns);

/* Are all hits given that were in the ring when deferred_end() was @end? */
bool deferral_has_given(const struct deferral *d, uint64_t end);

/* Log what became of the hits, for --debug. */
void deferral_describe(const struct deferral *d);

/* The unwinder's thread has ended. */
void deferral_close(struct deferral *d);
