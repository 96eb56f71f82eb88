/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/pairs.h - --elapsed: the events that end others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "kernel/host.h"
#include "match/target.h"
#include "profile/profile.h"
#include "tool/options.h"

/* A zeroed one is empty. */
struct pairs {
	uint32_t *numbers; /* by target: PAIR_NUMBER(), the same for a beginning and its ends */
	size_t n_numbers;  /* different ones */
	uint32_t n_groups;
	uint32_t switch_pair; /* of sched_switch */
};

void pairs_fini(struct pairs *p);

/* Do --elapsed and --until fit pattern number @pattern? Errors: -EINVAL, -EOPNOTSUPP. */
must_check int pairs_check(const struct options *opt, size_t pattern, struct error *e);

/*
 * Behind @opt->specs, which are those of the patterns, append the returns of user functions. There
 * must be room for twice as many. Errors: of probe_spec_parse().
 */
must_check int pairs_add_returns(struct options *opt, struct error *e);

/*
 * With --elapsed: the targets begin pairs, but for returns, which end them. Append the events that
 * end the others, and number all. User functions without returns are removed.
 * Errors: -ENOENT     no function is left; an event is not there, or nobody knows what ends a
 * beginning -EINVAL     an event would end itself -E2BIG      too many groups or pairs those of
 * matching
 */
must_check int pairs_choose(struct pairs *p, const struct options *opt, struct host *host,
			    struct target_list *targets, struct error *e);

/*
 * Set what the programs need for pairs. Returns how many of @bytes of memory the beginnings take,
 * which is 0 without --elapsed.
 */
uint64_t pairs_set_up(const struct pairs *p, uint64_t bytes, struct object_options *o);

/* The time of a pair, as the value of a profile. */
extern const struct profile_value pairs_value;
