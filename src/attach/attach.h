/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/attach.h - put the probes in place, and remove them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "attach/plan.h"
#include "base/error.h"
#include "match/target.h"

/*
 * --- Samples: the perf events that run a program once in each period, and their own counts. ---
 *
 * The kernel runs no program if another one runs on the CPU, and tells nobody. But the event counts
 * on: so the periods that have ended, minus the runs of the program, are the samples left out.
 *
 * An event is on one CPU, and ends when that goes offline (read_enabled_ns()). Then the CPU
 * needs another one.
 */

struct attachment;

/* Have all events count; have them end. */
void samples_enable(const struct attachment *a);
void samples_end(struct attachment *a);

struct samples_state {
	size_t n;          /* events */
	uint64_t n_due;    /* periods that have ended, by the events' own counts */
	uint64_t n_slowed; /* wanted ones that attachment_pace() has left out */
	bool is_counted;   /* @n_due is known: no event is sampled by frequency */
	double least_time; /* of an event: the part of the time in which it had a counter, up to 1
			    */
};

/* The present state, or that of samples_end(). */
struct samples_state samples_read(const struct attachment *a);

/*
 * Open the perf events of @a that a CPU lacks: it has come online, maybe again. Returns the number
 * of new events. Call it while they are enabled, and not more often than once in 100 ms.
 */
uint32_t attach_new_cpus(struct attachment *a);

/* --- The probes of a run. --- */

#define SAMPLES_PER_S 99 /* not 100, which would be in step with timers */

struct attach_scope {
	const uint32_t *pids; /* put user probes into these processes; none, or many: into all */
	size_t n_pids;
	const uint32_t *numbers; /* by target, the number that its program gets. NULL: its index */
	/* Of perf events: */
	uint64_t period, frequency; /* 0: by default; SAMPLES_PER_S where a frequency is usual */
	const uint32_t *cpus;       /* on these CPUs; none: on all */
	size_t n_cpus;
	uint32_t n_possible_cpus;
};

/*
 * Attach the loaded ones of the programs that follow new tasks, exec, exit and mappings of all
 * processes, and then every target by its planned backend. A target that the kernel refuses is left
 * out and remembered. A refused batch is tried in parts, or by the next backend.
 *
 * Errors: if every target was refused, the code and message of the first refusal; any refusal of a
 *         program that follows; and those of attach_in_files().
 * Ownership: the attachment owns its descriptors. It borrows all arguments, and the arrays of
 *            @scope, until it is freed.
 */
must_check int attach_all(const struct target_list *targets, const struct plan *plan,
			  const struct object *object, const struct attach_scope *scope,
			  struct attachment **ret, struct error *e);

/*
 * Remove every probe, within a moment. The kernel takes long for hundreds of single probes
 * (tracepoints, kprobes, uprobes; not the multi links). A process that outlives us waits for it,
 * and then ends. Until then their programs run, so switch counting off (TURN_OFF) before.
 */
void attachment_detach(struct attachment *a);
void attachment_freep(struct attachment **a); /* detach and free; NULL is allowed */

/* Functions, tracepoints and USDT probes; a function with several exits is one. */
size_t attachment_n_attached(const struct attachment *a);

struct refusal {
	const struct target *target;
	int code;     /* negative errno */
	char *reason; /* with the place of code in a file */
};

/* The @ret_n refused targets, lent by @a. */
const struct refusal *attachment_refusals(const struct attachment *a, size_t *ret_n);

/*
 * Hits that the kernel missed at the probes (kprobe misses). 0: none, or the kernel does not count
 * them.
 */
uint64_t attachment_missed(const struct attachment *a);

/*
 * A clock's timer takes the CPU whatever else is to be done. Give those with a short period one so
 * long that hits of all of them, @price_ns each, take a quarter of a CPU at most. True: a clock has
 * a longer period, *@ret_ns, than *@ret_wanted_ns, the user's.
 */
bool attachment_pace(struct attachment *a, uint64_t price_ns, uint64_t *ret_ns,
		     uint64_t *ret_wanted_ns);
