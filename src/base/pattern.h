/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/pattern.h - does a name match a pattern?
 *
 * A glob ('*', '?', '[...]') has to match the whole name. A regular expression is
 * POSIX extended, and may match anywhere in the name.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct pattern;

/*
 * Copies @text. Errors: -EINVAL, the library refuses the regular expression, or it is longer than
 * 4,096 bytes; a glob cannot fail.
 */
must_check int pattern_compile(const char *text, bool is_regexp, struct pattern **ret,
			       struct error *e);
void pattern_freep(struct pattern **p);

bool pattern_matches(const struct pattern *p, const char *name);

/* The only name that the pattern can match if it is a glob without wildcards, else NULL. Lent by
 * @p. */
const char *pattern_literal(const struct pattern *p);

/* The text that the pattern was made of. Lent by @p. */
const char *pattern_text(const struct pattern *p);
