/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/funccount.h - count the calls of each target, and print them at the end or each interval. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* A run of funccount. Errors: of any room; nothing stays attached. */
must_check int count_functions(const struct options *opt, struct error *e);
