/* match/names.h - does a symbol's name, mangled or as written, match what was asked for? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pattern.h"

enum { NAME_NEEDLES = 8 };

/* A pattern, and texts without which no mangled name need be demangled. Plain value. */
struct name_pattern {
	const struct pattern *pattern; /* borrowed; it lends the needles */
	struct {
		const char *text;
		size_t n;
	} needles[NAME_NEEDLES];
	size_t n_needles;
};

void name_pattern_init(struct name_pattern *np, const struct pattern *pattern);

/*
 * Compare the pattern with @symbol itself and, where it is mangled, with the name
 * as written: with or without parameters ("ns::f"), and with or without return type.
 */
bool names_match(const struct name_pattern *np, const char *symbol);

/* The name as written, to free(): @symbol's copy where it is not mangled. */
char *names_written(const char *symbol);

/* The same without parameters and return type. */
char *names_bare(const char *symbol);

/* Of two names of one place: would a person rather write @a than @b? */
bool names_is_better(const char *a, const char *b);
