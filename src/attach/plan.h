/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/plan.h - which backend serves which target. Pure: a test can stand in for any kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/features.h"
#include "attach/object.h"
#include "base/error.h"
#include "match/target.h"

enum backend {
	BACKEND_TRACEPOINT,
	BACKEND_KPROBE_MULTI,
	BACKEND_KPROBE,
	BACKEND_UPROBE_MULTI,
	BACKEND_UPROBE,
	BACKEND_PERF_EVENT,
	BACKEND_KRETPROBE_MULTI,
	BACKEND_KRETPROBE,
	BACKEND_N,
};

const char *backend_name(enum backend backend); /* "kprobe.multi" */

/* Owned; a zeroed one is empty. */
struct plan {
	uint8_t *backends; /* enum backend of each target, in the order of the list */
	size_t n;
	unsigned programs;        /* that the backends need: an OR of 1 << enum object_program */
	unsigned multi;           /* those of them for links of many places */
	struct features features; /* of the kernel that the plan is for */
};

/*
 * Choose a backend for each target. @avoid is an OR of 1 << enum backend: backends not to use, for
 * tests and --without.
 * Errors: -EOPNOTSUPP the kernel has nothing for this kind; the message says what it lacks and what
 *         works instead.
 */
must_check int plan_make(const struct target_list *targets, const struct features *features,
			 unsigned avoid, struct plan *ret, struct error *e);
void plan_fini(struct plan *plan);

/*
 * Might the kernel silently take one of several functions of one name? On older kernels, it does
 * for a kprobe by name. For kprobe.multi it does on all kernels, and takes one that ftrace can
 * trace. That is right if a wildcard found the name in ftrace's list.
 */
bool plan_wants_addresses(const struct plan *plan, const struct target_list *targets);

/* The program for @target. */
enum object_program plan_program(const struct target *target);
