/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/attach.h - put the probes in place, and remove them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attach/plan.h"
#include "attach/samples.h"
#include "base/error.h"
#include "bpf/object.h"
#include "match/target.h"

struct attachment;

#define SAMPLES_PER_S 99 /* not 100, which would be in step with timers */

struct attach_scope {
	const uint32_t *pids; /* put user probes into these processes; none: into all */
	size_t n_pids;
	enum target_by target_by; /* as in the loaded programs */
	const uint32_t *numbers;  /* by target, the number that its program gets. NULL: its index */
	/* Of perf events: */
	uint64_t period, frequency; /* 0: by default; SAMPLES_PER_S where a frequency is usual */
	const uint32_t *cpus;       /* on these CPUs; none: on all */
	size_t n_cpus;
	uint32_t n_possible_cpus;
	size_t n_files; /* descriptors that events must leave for the rest of the run */
};

/*
 * Attach every target by its planned backend. A target that the kernel refuses is left out and
 * remembered. A refused batch is tried in parts, or by the next backend.
 *
 * Errors: if every target was refused, the code and message of the first refusal; and those of
 *         distant_attach().
 * Ownership: the attachment owns its descriptors. Its refusals point into @targets, which must
 *            outlive it.
 */
must_check int attach_all(const struct target_list *targets, const struct plan *plan,
			  const struct object *object, const struct attach_scope *scope,
			  struct attachment **ret, struct error *e);

/*
 * Open the perf events of @a that a CPU lacks: it has come online, maybe again. The other arguments
 * are those of attach_all(). Returns the number of new events. Call it while they are enabled, and
 * not more often than once in 100 ms.
 */
uint32_t attach_new_cpus(struct attachment *a, const struct target_list *targets,
			 const struct plan *plan, const struct object *object,
			 const struct attach_scope *scope);

/*
 * Attach the loaded ones of the programs that follow exec, exit, fork and mappings of all
 * processes, and those that follow a command's. @ids are perf's numbers of the tracepoints
 * task:task_newtask, sched:sched_process_exec and _exit. NULL: there is no command. Errors: any
 * refusal.
 */
must_check int attach_following(const struct object *object, const struct features *features,
				const uint64_t ids[3], struct attachment **ret, struct error *e);

/*
 * Remove every probe, within a moment. The kernel takes long for hundreds of single probes
 * (tracepoints, kprobes, uprobes; not the multi links). A process that outlives us waits for it,
 * and then ends. Until then their programs run, so switch counting off (TURN_OFF) before.
 */
void attachment_detach(struct attachment *a);
void attachment_free(struct attachment *a); /* detach and free; NULL is allowed */
void attachment_freep(struct attachment **a);

/* Functions, tracepoints and USDT probes; a function with several exits is one. */
size_t attachment_n_attached(const struct attachment *a);

struct refusal {
	const struct target *target;
	int code;           /* negative errno */
	const char *reason; /* lent by the attachment */
};
/* Where that is: " (FILE+0xOFFSET)" for code in a file, cut if it is long; else "". */
#define REFUSAL_PLACE_BYTES 256
void refusal_place(const struct refusal *r, char to[REFUSAL_PLACE_BYTES]);
size_t attachment_n_refused(const struct attachment *a);
const struct refusal *attachment_refused(const struct attachment *a, size_t i);

/*
 * Hits that the kernel missed at the probes (kprobe misses). 0: none, or the kernel does not count
 * them.
 */
uint64_t attachment_missed(const struct attachment *a);

/*
 * The attachment's perf events (BACKEND_PERF_EVENT), disabled at first. Lent. They end with
 * attachment_detach().
 */
const struct samples *attachment_samples(const struct attachment *a);
/* samples_pace() of these. Lent until the next call of attach_new_cpus(). */
const struct sampling *attachment_pace(struct attachment *a, uint64_t price_ns);
