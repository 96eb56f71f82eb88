/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/stackcount.h - count stacks in the kernel, and print them at the end or each interval. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/* A run of stackcount. Errors: of any room; nothing stays attached. */
must_check int count_stacks(const struct options *opt, struct error *e);
