/* base/regexp.h - POSIX extended regular expressions of bounded cost. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct regexp;

/*
 * Errors: -EINVAL, with the library's words; or because the expression takes too much
 * time or memory, or has back-references, which POSIX does not have in these expressions.
 * Others from making a process.
 */
must_check int regexp_new(const char *text, struct regexp **ret, struct error *e);
void regexp_free(struct regexp *r);
void regexp_freep(struct regexp **r);

/* Somewhere in @name. False from when its matches have taken too much CPU time: see below. */
bool regexp_matches(struct regexp *r, const char *name);

/* Was each answer of regexp_matches() right? Errors: -EINVAL: they took too much time. */
must_check int regexp_check(const struct regexp *r, struct error *e);
