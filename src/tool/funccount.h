/* tool/funccount.h - how often each target is called, printed at the end or each interval. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* Count calls until told to end, and print them. Errors: of any room; nothing is left attached. */
must_check int count_functions(const struct options *opt, struct error *e);
