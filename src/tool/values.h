/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/values.h - the value of a hit, for all targets of a run: of --sum and of stacksnoop's
 * --value, or the time of --elapsed, from an event to the one that ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "bpf/value_code.h"
#include "kernel/host.h"
#include "match/expression.h"
#include "match/target.h"
#include "profile/profile.h"
#include "tool/options.h"

/* --- pairs, of --elapsed --- */

/* A zeroed one is empty. */
struct pairs {
	uint32_t *numbers; /* by target: PAIR_NUMBER(), the same for a beginning and its ends */
	size_t n_numbers;  /* different ones */
	uint32_t n_groups;
	uint32_t switch_pair; /* of sched_switch */
};

/* Do --elapsed and --until fit pattern number @pattern? Errors: -EINVAL, -EOPNOTSUPP. */
must_check int pairs_check(const struct options *opt, size_t pattern, struct error *e);

/*
 * Behind @opt->specs, which are those of the patterns, append the returns of user functions. There
 * must be room for twice as many. Errors: of probe_spec_parse().
 */
must_check int pairs_add_returns(struct options *opt, struct error *e);

/* --- values --- */

/* A zeroed one is empty: hits have no values. */
struct values {
	struct expression x;      /* as typed */
	struct expression *codes; /* for the targets; all differ */
	size_t n, capacity;
	uint32_t *numbers;  /* by target, its index in @codes */
	struct pairs pairs; /* of --elapsed */
	struct value_code code;
	struct profile_value value;
	const char *unit;   /* as given; NULL: targets tell it */
	const char *option; /* "--sum" or "--value" */
	const struct options *opt;
	bool is_wanted; /* that option is given */
	bool has_tracepoint;
	bool was_told; /* that targets were left out */
};

/* Parse --sum, if it is given. Errors: of expression_parse(). @v keeps @opt. */
must_check int values_parse(struct values *v, const struct options *opt, struct error *e);
void values_fini(struct values *v);

/*
 * Find the value for each of @targets. Those that have none are removed from the list, with a
 * warning. With --elapsed, the ends are added: see pairs_choose(). Errors: no target is left; those
 * of value_resolve() and pairs_choose().
 */
must_check int values_choose(struct values *v, struct host *host, struct target_list *targets,
			     struct error *e);

/* How the programs tell the targets apart: see struct run. Lent by @v. */
const uint32_t *values_numbers(const struct values *v, size_t *n);

/*
 * Set what the programs need for values, which is nothing if hits have none. @v is kept until
 * object_load() is over. Takes the memory of pairs that have begun from *@bytes. Errors: -E2BIG.
 */
must_check int values_set_up(struct values *v, uint64_t *bytes, struct object_options *o,
			     struct error *e);

/* The value's name in a profile. NULL: hits have none. Lent by @v. */
const struct profile_value *values_name(const struct values *v);
