/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/probing.h - plan, load and attach the probes of a run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/kernel_tables.h"

struct options;
struct run;

/* How samples of perf events are paced. */
struct pacing {
	uint64_t looked_at; /* CLOCK_MONOTONIC: see probing_watch_samples() */
	bool has_price;     /* the price of a hit is known, or assumed */
	bool is_slowness_told;
	uint32_t n_unpriced;
	struct hit_cost cost_seen;
	double price_ns;
};

/* Check that the processes of -p and the CPUs of -c exist. Errors: -ESRCH, -ENXIO. */
must_check int probing_check(const struct options *opt, struct error *e);

/* Find the features of this kernel that the patterns' targets depend on. */
void probing_features(struct run *r);

/* Choose a backend for each target. Errors: a target has none. */
must_check int probing_plan(struct run *r, struct error *e);

/* Print the plan (--debug). Warn if the kernel will take long to remove the probes. */
void probing_tell_plan(const struct run *r);

/* Load programs and maps. Errors: from the kernel, with the likely reason. */
must_check int probing_load(struct run *r, struct error *e);

/* Would a report hit the probes all the time? */
bool probing_hits_report(const struct run *r);

/*
 * Attach every target, and warn about refusals. Errors: all were refused; -ENOENT, the kernel does
 * not know a function that the user named in full.
 */
must_check int probing_attach(struct run *r, struct error *e);

/* Print the hits of each target (--debug). */
void probing_describe(const struct run *r);

/*
 * Put perf events on CPUs that have come online, and hold the share of a CPU that samples take.
 * Returns the milliseconds until it wants to be called again; -1: never.
 */
int probing_watch_samples(struct run *r);
