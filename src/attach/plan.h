/* attach/plan.h - which backend serves which target. Pure: a test can stand in for any kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/features.h"
#include "bpf/object.h"
#include "match/target.h"

enum backend {
	BACKEND_TRACEPOINT,
	BACKEND_KPROBE_MULTI,
	BACKEND_KPROBE,
	BACKEND_UPROBE_MULTI,
	BACKEND_UPROBE_EVENT,
	BACKEND_UPROBE,
	BACKEND_N,
};

const char *backend_name(enum backend backend); /* "kprobe.multi" */

/* Owned; a zeroed one is empty. */
struct plan {
	uint8_t *backends; /* enum backend of each target, in the list's order */
	size_t n;
	unsigned programs; /* 1 << enum object_program, an OR; with those of backends to fall back
			      to */
	bool has_single_uprobes;  /* for places that uprobe events leave out */
	struct features features; /* of the kernel that the plan is for */
};

/*
 * @avoid: 1 << enum backend, an OR: not to be used (a test hook and --debug's).
 * Errors: -EOPNOTSUPP the kernel has nothing for this kind; the message says what
 *         it lacks and what works instead.
 */
must_check int plan_make(const struct target_list *targets, const struct features *features,
			 unsigned avoid, struct plan *ret, struct error *e);
void plan_fini(struct plan *plan);

/*
 * Would the kernel silently take one of several functions of one name? A kprobe by name
 * does on older kernels. kprobe.multi does on all, by the name that it can trace: where
 * the name comes from the list of those (by a wildcard), that is the one.
 */
bool plan_wants_addresses(const struct plan *plan, const struct target_list *targets);

/* The program that serves @kind by @backend. */
enum object_program plan_program(enum backend backend, enum target_kind kind);
