/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/private.h - shared by the files of match/. No other room includes it. */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "match/match.h"

/* The state of one call of match_targets(). */
struct matching {
	const struct probe_spec *spec;
	struct host *host;
	const struct match_scope *scope;
	struct target_list *out;
	size_t n_before;     /* targets of earlier calls */
	struct u64_map seen; /* place -> the target's number */
};

/* The targets have other numbers now. */
void matching_renumber(struct matching *m);

/*
 * List @t, whose place is set if it is in a file, unless a target is listed at its place. Of two
 * functions in a file, that target gets the better name. @t's strings are copied. Errors: -E2BIG.
 */
must_check int matching_add(struct matching *m, const struct target *t, struct error *e);

/* Match the specs of one kind. On success, targets are added or were listed before. */
must_check int match_kernel(struct matching *m, struct error *e);
must_check int match_tracepoints(struct matching *m, struct error *e);
must_check int match_user(struct matching *m, struct error *e);
must_check int match_perf_events(struct matching *m, struct error *e);
