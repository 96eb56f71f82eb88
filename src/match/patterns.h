/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/patterns.h - all that the user wants to trace: from texts to targets, and to the value of
 * each target's hits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "match/expression.h"
#include "match/match.h"
#include "match/numbers.h"
#include "match/spec.h"
#include "match/target.h"

/* Strings are lent. */
struct patterns {
	char *const *texts;        /* @n */
	const char *const *untils; /* by text: the event of its --until; NULL: none */
	size_t n;
	bool is_regexp;
	bool raw_names;                 /* as for match_scope */
	const struct number_list *pids; /* likewise */
	bool elapsed;                   /* the value of a hit is the time until its end */
	const char *sum;                /* an expression: the value of a hit; NULL: none */
	const char *sum_option;         /* the option that takes it */
	const char *unit;               /* of the values; NULL: as far as their names tell */
	/* Of patterns_parse(): */
	struct probe_spec *specs; /* of @texts; then, with @elapsed, of their functions' returns */
	size_t n_specs;
	struct expression x; /* of @sum */
};

/*
 * Set the last three members. Are the patterns well-formed, and do --elapsed and --until fit them?
 * Errors: -EINVAL, -EOPNOTSUPP. The caller ends them with patterns_fini() in any case.
 */
must_check int patterns_parse(struct patterns *p, struct error *e);
void patterns_fini(struct patterns *p);

/* Does the spec name a place in a file? */
bool spec_is_in_file(const struct probe_spec *spec);

/*
 * Append the targets of all patterns to @targets, which is empty. Those in files come first: a
 * process searches these. Errors: of match_targets() and match_in_files().
 */
must_check int patterns_match(const struct patterns *p, struct host *host, enum match_depth depth,
			      struct target_list *targets, struct error *e);

/* --- values --- */

/* The value of a hit, for all targets. Begins with { .of }. */
struct values {
	const struct patterns *of;
	/*
	 * How the programs tell the targets apart. By target: the index of its code, or
	 * PAIR_NUMBER(), which is the same for a beginning and its ends. NULL: hits have no values.
	 */
	uint32_t *numbers;
	size_t n_numbers;         /* different ones */
	struct expression *codes; /* of the sum, for the targets; all differ */
	size_t capacity;
	const char *name, *unit; /* NULL: hits have no values; nobody knows it */
	bool has_tracepoint;
	bool was_told;        /* that some targets have no value */
	uint32_t n_groups;    /* of pairs */
	uint32_t switch_pair; /* of sched_switch */
};

void values_fini(struct values *v);

/*
 * Find the value for each of @targets. Those that have none are removed from the list, with a
 * warning. With @elapsed, the targets begin pairs, but for returns, which end them; the events that
 * end the others are appended.
 *
 * Errors: -ENOENT, no target is left, an event is not there, or nobody knows what ends a beginning;
 * -EINVAL, an event would end itself; -E2BIG, too many codes, groups or pairs; those of
 * value_resolve() and of matching.
 */
must_check int values_choose(struct values *v, struct host *host, struct target_list *targets,
			     struct error *e);
