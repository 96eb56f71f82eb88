/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/deferral.h - hits that the programs have deferred (bpf/deferred.h): from the ring, by the
 * model's mappings and the unwinder's walk, to the tool's count.
 *
 * Each hit is given to the tool once. If its walk takes too long, the tool gets it as the program
 * would have counted it: cut, with a mark.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/deferred.h"
#include "store/rings.h"
#include "tables/late_job.h"

struct run;

/* A hit on its way. */
struct late_hit {
	struct late_job job;
	uint64_t since; /* ns: when it was taken from the ring */
	uint32_t turn;
	uint32_t tgid;
	bool is_lent;  /* the thread has the job */
	bool is_given; /* the tool has it; only the thread still uses it */
};

/* How the hits of some processes fare: those with the same deferred_pause_of(). */
struct late_pace {
	uint64_t window; /* ns: begin of the present window */
	uint32_t n;      /* hits in this window */
	uint32_t pause_ms;
	uint64_t paused_until; /* ns */
};

struct deferral {
	struct deferred_reader reader;
	struct late_hit **hits; /* in the ring's order */
	size_t n, capacity;
	struct late_pace paces[DEFERRED_PAUSES];
	uint64_t
		patience_ns; /* the longest wait for a walk; the tool may set it before the begin */
	uint32_t hold;       /* give no hit of a later turn; 0: give all */
	bool is_on, is_busy;
	uint64_t n_walked, n_whole, n_late; /* for --debug */
};

/* Begin, if the programs can defer hits and the run follows processes. */
void deferral_begin(struct run *r);

/*
 * Take new hits, have them walked, and give those that are ready to the tool. Call it often. Not
 * within itself.
 */
void deferral_serve(struct run *r);

/* The next call should come within this time if hits are on their way. */
#define DEFERRAL_MS 1

/*
 * No program runs that has begun a hit of turn @turn or before (struct trace_state). Give all these
 * hits to the tool. Waits for their walks for at most @most_ns, or until a signal. Gives no later
 * hit until r->deferral.hold is 0.
 */
void deferral_settle(struct run *r, uint32_t turn, uint64_t most_ns);

/* Has the tool got all hits that were in the ring when deferred_end() was @end? */
bool deferral_has_given(const struct run *r, uint64_t end);

/* Log what became of the hits, for --debug. */
void deferral_describe(const struct run *r);

/* @is_free: the unwinder's thread has ended. Else it may still use the hits. */
void deferral_close(struct run *r, bool is_free);
