/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/names.h - does a symbol's name match a pattern, mangled or as written? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pattern.h"

/*
 * Does the pattern match @symbol or, if that is mangled, the written name? That is tried with and
 * without parameters ("ns::f"), and with and without return type.
 */
bool names_match(const struct pattern *pattern, const char *symbol);

/* The same for @symbol alone, with and without its number (elf/demangle.h). */
bool names_match_symbol(const struct pattern *pattern, const char *symbol);

/* The written name, or with @is_raw the symbol, without a number. The caller frees it. */
char *names_written(const char *symbol, bool is_raw);

/* The same without parameters and return type. */
char *names_bare(const char *symbol);

/* Of two names of one place, would a user rather write @a than @b? */
bool names_is_better(const char *a, const char *b);

/* --- "did you mean": the names nearest to the one that the user wrote --- */

enum { NEAR_MAX = 3, NEAR_NAME_BYTES = 128 };

struct near_name {
	char name[NEAR_NAME_BYTES];
	unsigned distance;
};

struct near {
	char stem[64]; /* compared with names: the longest piece without wildcards */
	size_t n_stem;
	bool is_free_before, is_free_behind; /* a wildcard stood there */
	struct near_name best[NEAR_MAX];     /* nearest first */
	size_t n;
	char text[NEAR_MAX * NEAR_NAME_BYTES + 64]; /* near_text() */
};

/* Start a search for names near @wanted, which is a name, a glob or a regular expression. */
void near_init(struct near *near, const char *wanted);

/* Keep @name if it is near, and nearer than a kept one. */
void near_offer(struct near *near, const char *name);

/* " (did you mean vfs_read, vfs_readv?)", or "" if nothing is near. Lent by @near. */
const char *near_text(struct near *near);
