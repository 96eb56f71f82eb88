/* tool/stacksnoop.h - every single event with its stack, printed as it comes. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* Print each event until told to end. Errors: of any room; nothing is left attached. */
must_check int snoop_stacks(const struct options *opt, struct error *e);
