/* tool/pipeline.h - one run, from the command line to the last report. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* Are the patterns well-formed, and do they fit the options? Errors: -EINVAL. */
must_check int check_patterns(const struct options *opt, struct error *e);

/* Print what the patterns match, one a line. Errors: those of match_targets(). */
must_check int list_targets(const struct options *opt, struct error *e);

/* Count stacks until told to end, and print them. Errors: of any room; nothing is left attached. */
must_check int count_stacks(const struct options *opt, struct error *e);
