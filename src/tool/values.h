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

/* Do --elapsed and --until fit pattern number @pattern? Errors: -EINVAL, -EOPNOTSUPP. */
must_check int pairs_check(const struct options *opt, size_t pattern, struct error *e);

/*
 * Behind @opt->specs, which are those of the patterns, append the returns of user functions. There
 * must be room for twice as many. Errors: of probe_spec_parse().
 */
must_check int pairs_add_returns(struct options *opt, struct error *e);

/* --- values --- */

/* Begins with { .opt }. */
struct values {
	const struct options *opt;
	/*
	 * How the programs tell the targets apart. By target: the index of its code, or
	 * PAIR_NUMBER(), which is the same for a beginning and its ends. NULL: hits have no values.
	 */
	uint32_t *numbers;
	size_t n_numbers;         /* different ones */
	struct expression *codes; /* of --sum, for the targets; all differ */
	size_t capacity;
	struct value_code code;
	struct profile_value value;
	bool has_tracepoint;
	bool was_told;        /* that targets were left out */
	uint32_t n_groups;    /* of pairs */
	uint32_t switch_pair; /* of sched_switch */
};

void values_fini(struct values *v);

/*
 * Find the value for each of @targets. Those that have none are removed from the list, with a
 * warning. With --elapsed, the ends are added: see pairs_choose(). Errors: no target is left; those
 * of value_resolve() and pairs_choose().
 */
must_check int values_choose(struct values *v, struct host *host, struct target_list *targets,
			     struct error *e);

/*
 * Set what the programs need for values, which is nothing if hits have none. @v is kept until
 * object_load() is over. Takes the memory of pairs that have begun from *@bytes. Errors: -E2BIG.
 */
must_check int values_set_up(struct values *v, uint64_t *bytes, struct object_options *o,
			     struct error *e);

/* The value's name in a profile. NULL: hits have none. Lent by @v. */
const struct profile_value *values_name(const struct values *v);
