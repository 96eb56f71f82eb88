/*
 * base/pattern.h - does a name match what was asked for?
 *
 * One rule for every kind of event: a glob ('*', '?', '[...]') must match the
 * whole name; a regular expression is POSIX extended and unanchored.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct pattern;

/* Errors: -EINVAL, see regexp_new(). The text is copied. */
must_check int pattern_compile(const char *text, bool is_regexp, struct pattern **ret,
			       struct error *e);
void pattern_free(struct pattern *p);
void pattern_freep(struct pattern **p);

bool pattern_matches(const struct pattern *p, const char *name);

/* Was each answer of pattern_matches() right? Errors: see regexp_check(). */
must_check int pattern_check(const struct pattern *p, struct error *e);

/* The one name that a glob without wildcards can match, or NULL. Lent by @p. */
const char *pattern_literal(const struct pattern *p);

/* As typed. Lent by @p. */
const char *pattern_text(const struct pattern *p);

#define cleanup_pattern __attribute__((__cleanup__(pattern_freep)))
