/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/patterns.h - from the command line's patterns to targets; -l lists these. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "kernel/host.h"
#include "match/match.h"
#include "match/matcher.h"
#include "match/target.h"
#include "tool/options.h"

/*
 * Set opt->specs and opt->x. Are the patterns well-formed, and do they fit the options? Errors:
 * -EINVAL, -EOPNOTSUPP. The functions below need its success.
 */
must_check int patterns_parse(struct options *opt, struct error *e);

/* Does a pattern name a user function or a USDT probe? */
bool patterns_have_user_places(const struct options *opt);

/* The groups of features (an OR of enum feature_group) that the patterns' targets depend on. */
unsigned patterns_need_features(const struct options *opt);

/*
 * The search for targets of all patterns. A matcher searches files while the main process goes on.
 */
struct matching {
	const struct options *opt;
	struct match_scope scope;
	struct probe_spec *in_files; /* the specs that name places in files; their texts are lent */
	size_t n_in_files;
	struct matcher matcher; /* searches for these */
};

#define MATCHING_NONE                    \
	(struct matching)                \
	{                                \
		.matcher = MATCHER_NONE, \
	}

/* Begin the search. @opt is kept. Errors: no process can be made. */
must_check int matching_begin(struct matching *m, const struct options *opt, enum match_depth depth,
			      struct error *e);

/*
 * Append the targets of all patterns to @targets, which is empty. Those in files come first.
 * Errors: of match_targets() and matcher_finish().
 */
must_check int matching_finish(struct matching *m, struct host *host, struct target_list *targets,
			       struct error *e);
void matching_end(struct matching *m);

/* Begin, finish and end a search. */
must_check int patterns_match(const struct options *opt, struct host *host, enum match_depth depth,
			      struct target_list *targets, struct error *e);

/* Append @t in the form of a pattern, escaped. */
void patterns_put_target(const struct target *t, struct strbuf *to);

/*
 * Print the targets that a run would trace, one on a line. With -v, the values follow that an
 * expression can name, one on an indented line. Errors: of patterns_match(), values_choose() and
 * value_list_each().
 */
must_check int list_targets(const struct options *opt, struct error *e);
