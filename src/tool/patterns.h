/* tool/patterns.h - from the command line's patterns to targets. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "kernel/host.h"
#include "match/match.h"
#include "match/target.h"
#include "tool/matcher.h"
#include "tool/options.h"

/* Are the patterns well-formed, and do they fit the options? Errors: -EINVAL. */
must_check int check_patterns(const struct options *opt, struct error *e);

/* Is one of them a place in user space? They are well-formed. */
bool patterns_have_user_places(const struct options *opt);

/* Groups of features that what they match will depend on (enum feature_group). */
unsigned patterns_need_features(const struct options *opt);

/* Looking for what all patterns match, which goes on beside us where it is in files. */
struct matching {
	struct probe_spec *specs;
	size_t n;
	size_t n_begun; /* the first ones of them */
	struct match_scope scope;
	struct matcher matcher; /* of these */
};

#define MATCHING_NONE                    \
	(struct matching)                \
	{                                \
		.matcher = MATCHER_NONE, \
	}

/* @opt is kept. Errors: -EINVAL, or no process can be made. */
must_check int matching_begin(struct matching *m, const struct options *opt, enum match_depth depth,
			      struct error *e);

/* Add what all patterns match to @targets. Errors: those of match_targets(). */
must_check int matching_finish(struct matching *m, struct host *host, struct target_list *targets,
			       struct error *e);
void matching_end(struct matching *m);

/* All of these. */
must_check int match_patterns(const struct options *opt, struct host *host, enum match_depth depth,
			      struct target_list *targets, struct error *e);

/* A target as a pattern that means it, for people. */
void put_target(const struct target *t, struct strbuf *to);

/* Print what the patterns match, one a line. Errors: those of match_targets(). */
must_check int list_targets(const struct options *opt, struct error *e);
