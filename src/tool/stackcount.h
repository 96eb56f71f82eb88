/* tool/stackcount.h - stacks, counted in the kernel, printed at the end or each interval. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* Count stacks until told to end, and print them. Errors: of any room; nothing is left attached. */
must_check int count_stacks(const struct options *opt, struct error *e);
