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
	struct u64_map seen; /* listed places, see place_*(), to the target's number */
};

/*
 * A place as one number. Two places have the same number once in 2^64 pairs. One of them would be
 * left out.
 */
uint64_t place_of_kernel_function(const struct target *t); /* by its address, or else its name */
uint64_t place_of_tracepoint(const char *category, const char *event);
uint64_t place_of_perf_event(const struct target *event);

struct file_place {
	uint64_t dev, ino; /* both 0: identified by its path */
	const char *path;
	bool is_distant; /* on FUSE or a network, or others than root may replace the file */
};

/* May only root change the file, and every folder and link of its path? */
bool is_roots_alone(const char *path);
void file_place_of(const char *path, struct file_place *ret);
/*
 * @kind is part of the place. If a function begins with a USDT probe, there are two places, and one
 * has a semaphore. @offset is a function's entry, wherever its probe is.
 */
uint64_t place_in_file(const struct file_place *file, enum target_kind kind, uint64_t offset);

/* The targets have other numbers now. */
void matching_renumber(struct matching *m);

/*
 * List @t at @place, unless a target is listed there. Then that target gets @t's name as an alias.
 * @t's strings are copied. *@ret (may be NULL) is the target at @place, lent until the next call.
 * Errors: -E2BIG.
 */
must_check int matching_add(struct matching *m, const struct target *t, uint64_t place,
			    struct target **ret, struct error *e);

/* Note @name as a further name of @listed, a target of the list. The name is copied. */
void matching_add_alias(struct matching *m, const struct target *listed, const char *name);

/* Match the specs of one kind. On success, targets are added or were listed before. */
must_check int match_kernel(struct matching *m, struct error *e);
must_check int match_tracepoints(struct matching *m, struct error *e);
must_check int match_user(struct matching *m, struct error *e);
must_check int match_perf_events(struct matching *m, struct error *e);

/*
 * Move the probes of targets from @first on, which all are of @image, to instructions that the
 * kernel can probe. If there is none, set the target's obstacle.
 */
struct image;
void place_probes(const struct matching *m, size_t first, struct image *image);

/*
 * Replace the targets from @first on, which are TARGET_USER_RETURN and entries of functions of
 * @image, by the functions' exits. @first_alias: their first alias. A function whose exits are not
 * all known, or cannot all have a probe, is left out.
 * Errors: -EOPNOTSUPP none is left; -E2BIG.
 */
must_check int place_returns(struct matching *m, size_t first, size_t first_alias,
			     struct image *image, struct error *e);
