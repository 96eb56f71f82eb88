/* attach/attach.h - putting the probes in place, and taking them away. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attach/plan.h"
#include "base/error.h"
#include "bpf/object.h"
#include "match/target.h"

struct attachment;

struct attach_scope {
	const uint32_t *pids; /* user probes are put into these processes only; none: into all */
	size_t n_pids;
	int tracefs; /* its directory, lent; of no matter without BACKEND_UPROBE_EVENT */
	enum target_by target_by; /* as the programs were loaded */
	size_t n_files;           /* descriptors that events leave to the rest of the run */
};

/*
 * Attach every target by its planned backend. A single target that the kernel
 * refuses is left out and remembered; a refused batch is tried in parts or by
 * the next backend.
 *
 * Errors: every target was refused; the code and message of the first refusal.
 * Ownership: the attachment holds descriptors only; @targets must outlive it.
 */
must_check int attach_all(const struct target_list *targets, const struct plan *plan,
			  const struct object *object, const struct attach_scope *scope,
			  struct attachment **ret, struct error *e);

/*
 * Attach the programs that follow a command's processes. @ids: perf's numbers of the
 * tracepoints task:task_newtask, sched:sched_process_exec and _exit. Errors: any refusal.
 */
must_check int attach_follower(const struct object *object, const struct features *features,
			       const uint64_t ids[3], struct attachment **ret, struct error *e);

/*
 * Attach the programs that tell what becomes of processes, as far as they are loaded. Errors: any
 * refusal.
 */
must_check int attach_lives(const struct object *object, struct attachment **ret, struct error *e);

/*
 * Remove every probe, within a moment. The kernel takes long for hundreds of single probes
 * (tracepoints, kprobes, uprobes; never the multi links). A process that is left behind closes
 * those, and ends with the last. Until then their programs run: switch counting off (TURN_OFF)
 * before.
 */
void attachment_detach(struct attachment *a);
/*
 * The same by a process of its own. Returns a descriptor, the caller's, at whose end the probes are
 * gone; -1: they are.
 */
int attachment_detach_aside(struct attachment *a);
void attachment_free(struct attachment *a); /* and free, NULL too */
void attachment_freep(struct attachment **a);

size_t attachment_n_attached(const struct attachment *a);
/* The PID of our helper process that lives as long as the probes; 0: there is none. */
uint32_t attachment_helper(const struct attachment *a);

size_t attachment_n_links(const struct attachment *a);

struct refusal {
	const struct target *target;
	int code;           /* negative errno */
	const char *reason; /* lent by the attachment */
};
size_t attachment_n_refused(const struct attachment *a);
const struct refusal *attachment_refused(const struct attachment *a, size_t i);

/* Hits that the kernel missed at the probes (kprobe misses), 0 where it does not count them. */
uint64_t attachment_missed(const struct attachment *a);
