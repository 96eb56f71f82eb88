/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/listing.h - -l: what patterns match. */
#pragma once

#include "base/error.h"
#include "tool/options.h"

/*
 * Print the targets that a run would trace, one on a line. With -v, the values follow that an
 * expression can name, one on an indented line. Errors: of patterns_match(), values_choose() and
 * value_list_each().
 */
must_check int list_targets(const struct options *opt, struct error *e);
