/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/regexp.h - POSIX extended regular expressions of bounded cost. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct regexp;

/*
 * Compile @text. Back-references are an error, because POSIX extended expressions have none.
 * Errors: -EINVAL  the library refuses the expression, or it takes too much time or memory
 *         others   the process that tries the expression cannot be made
 */
must_check int regexp_new(const char *text, struct regexp **ret, struct error *e);
void regexp_free(struct regexp *r);
void regexp_freep(struct regexp **r);

/*
 * Does the expression match anywhere in @name? Always false once all matches together have taken
 * too much CPU time, so call regexp_check() before you rely on the answers.
 */
bool regexp_matches(struct regexp *r, const char *name);

/* Were all answers of regexp_matches() right? Errors: -EINVAL: matching took too much time. */
must_check int regexp_check(const struct regexp *r, struct error *e);
