// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Take written names apart:
 *
 *	void ns::apply<int>(int, std::vector<int> const&) const [clone .cold]
 *	     ^bare name    ^parameters                    ^qualifiers
 */
#include "match/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elf/demangle.h"

static bool is_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R' || symbol[1] == 'D');
}

/* Is all text from @at on qualifiers, which may follow the parameters? */
static bool are_qualifiers(const char *at)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", " noexcept" };

	while (*at) {
		size_t i = 0;

		if (strncmp(at, " [clone", 7) == 0)
			return true;
		while (i < ARRAY_SIZE(words) && strncmp(at, words[i], strlen(words[i])) != 0)
			i++;
		if (i == ARRAY_SIZE(words))
			return false;
		at += strlen(words[i]);
	}
	return true;
}

/* The beginning of the parameters in @name; NULL: it has none. */
static char *find_parameters(char *name)
{
	size_t clone = strlen(name), depth = 0;
	char *cut = strstr(name, " [clone");

	if (cut)
		clone = (size_t)(cut - name);

	size_t close = clone;

	while (close > 0 && name[close - 1] != ')')
		close--;
	if (close == 0 || !are_qualifiers(name + close))
		return NULL;
	for (size_t i = close; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (depth > 0)
			continue;
		/* "operator()" without parameters, "(anonymous namespace)" at the front. */
		if (i == 0 || (i >= 8 && strncmp(name + i - 8, "operator", 8) == 0))
			return NULL;
		return name + i;
	}
	return NULL;
}

/*
 * The name behind the return type. It begins behind the last space that is in no brackets and
 * before any operator.
 */
static const char *skip_return_type(const char *name)
{
	const char *stop = strstr(name, "operator"), *found = name;
	int depth = 0;

	for (const char *p = name; *p && p != stop; p++) {
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p))
			depth--;
		else if (*p == ' ' && depth == 0)
			found = p + 1;
	}
	return found;
}

bool names_match_symbol(const struct pattern *pattern, const char *symbol)
{
	cleanup_free char *plain = name_without_number(symbol);

	return pattern_matches(pattern, symbol) || (plain && pattern_matches(pattern, plain));
}

bool names_match(const struct pattern *pattern, const char *symbol)
{
	if (names_match_symbol(pattern, symbol))
		return true;

	/* This takes 1 to 3 us: half a second for the 150,000 names of a large C++ program. */
	cleanup_free char *name = is_mangled(symbol) ? demangle(symbol) : NULL;

	if (!name)
		return false;
	if (pattern_matches(pattern, name))
		return true;

	char *open = find_parameters(name);

	if (open)
		*open = '\0';

	const char *bare = skip_return_type(name);

	if ((open && pattern_matches(pattern, name)) ||
	    (bare != name && pattern_matches(pattern, bare)))
		return true;
	if (!open || bare == name)
		return false;
	*open = '('; /* with parameters, but without the return type */
	return pattern_matches(pattern, bare);
}

char *names_written(const char *symbol, bool is_raw)
{
	char *name = is_mangled(symbol) && !is_raw ? demangle(symbol) : name_without_number(symbol);

	return name ? name : xstrdup(symbol);
}

char *names_bare(const char *symbol)
{
	cleanup_free char *name = names_written(symbol, false);
	char *open = is_mangled(symbol) ? find_parameters(name) : NULL;

	if (open)
		*open = '\0';
	return xstrdup(is_mangled(symbol) ? skip_return_type(name) : name);
}

bool names_is_better(const char *a, const char *b)
{
	size_t a_lines = strspn(a, "_"), b_lines = strspn(b, "_");
	size_t n_a = strlen(a), n_b = strlen(b);

	if (a_lines != b_lines)
		return a_lines < b_lines;
	return n_a != n_b ? n_a < n_b : strcmp(a, b) < 0;
}

/* --- near names --- */

/*
 * The unit of distances: one edit (insert, delete, replace, swap of neighbours). Other likenesses
 * have places between.
 */
#define EDIT 4
#define BEGINS_WITH 5 /* foo for foo.isra.0: more than one edit */
#define CONTAINS 9    /* nanosleep for do_nanosleep: more than two */
#define NOT_NEAR UINT_MAX

void near_init(struct near *near, const char *wanted)
{
	const char *best = wanted, *at = wanted;
	size_t n_best = 0, n;

	*near = (struct near){};
	for (; *at; at += n + (at[n] != '\0')) {
		if (*at == '[') /* skip the alternatives, which cannot be compared */
			at += strcspn(at, "]");
		n = strcspn(at, "*?[]\\^$().|+{}");
		if (n > n_best) {
			best = at;
			n_best = n;
		}
	}
	near->is_free_before = best > wanted && best[-1] != '^';
	near->is_free_behind = best[n_best] != '\0' && best[n_best] != '$';
	near->n_stem = n_best < sizeof(near->stem) ? n_best : sizeof(near->stem) - 1;
	memcpy(near->stem, best, near->n_stem);
}

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * The edits from the stem to @name, or to a part of it next to wildcards. costs[i][j] is that of
 * the name's first i characters and the stem's first j.
 */
static unsigned edit_distance(const struct near *near, const char *name, size_t n)
{
	unsigned costs[NEAR_NAME_BYTES][sizeof(near->stem)], best = UINT_MAX;

	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= near->n_stem; j++) {
			unsigned cost = (unsigned)(j || !near->is_free_before ? i + j : 0);

			if (i && j) {
				cost = least_of(costs[i - 1][j], costs[i][j - 1]) + 1;
				cost = least_of(cost, costs[i - 1][j - 1] +
							      (name[i - 1] != near->stem[j - 1]));
			}
			if (i > 1 && j > 1 && name[i - 1] == near->stem[j - 2] &&
			    name[i - 2] == near->stem[j - 1])
				cost = least_of(cost, costs[i - 2][j - 2] + 1);
			costs[i][j] = cost;
		}
		best = least_of(best, costs[i][near->n_stem]);
	}
	return near->is_free_behind ? best : costs[n][near->n_stem];
}

static unsigned distance_from_stem(const struct near *near, const char *name, size_t n)
{
	const size_t most = least_of((unsigned)(near->n_stem + 1) / 4, 3); /* typing errors */
	const bool is_free = near->is_free_before || near->is_free_behind;
	const char *part = near->n_stem >= 4 ? strstr(name, near->stem) : NULL;
	unsigned found = !part ? NOT_NEAR : part == name ? BEGINS_WITH : CONTAINS, n_edits;

	/* Most names are too far by their lengths alone, which is a cheap test. */
	if (n + most < near->n_stem || (n > near->n_stem + most && !is_free))
		return found;
	n_edits = edit_distance(near, name, n);
	return n_edits <= most ? least_of(found, n_edits * EDIT) : found;
}

/* Is @a to be offered before @b? Shorter names come first, then the alphabet decides. */
static bool is_nearer(const struct near_name *a, const struct near_name *b)
{
	const size_t n_a = strlen(a->name), n_b = strlen(b->name);

	if (a->distance != b->distance)
		return a->distance < b->distance;
	return n_a != n_b ? n_a < n_b : strcmp(a->name, b->name) < 0;
}

void near_offer(struct near *near, const char *name)
{
	const size_t n = strnlen(name, NEAR_NAME_BYTES);
	struct near_name offer = {};
	size_t at = 0;

	if (near->n_stem == 0 || n == NEAR_NAME_BYTES)
		return;
	memcpy(offer.name, name, n);
	offer.distance = distance_from_stem(near, name, n);
	while (at < near->n && is_nearer(&near->best[at], &offer))
		at++;
	if (offer.distance == NOT_NEAR || at == NEAR_MAX ||
	    (at < near->n && strcmp(near->best[at].name, name) == 0))
		return;
	near->n += near->n < NEAR_MAX;
	memmove(&near->best[at + 1], &near->best[at], (near->n - at - 1) * sizeof(offer));
	near->best[at] = offer;
}

const char *near_text(struct near *near)
{
	size_t used = 0;

	near->text[0] = '\0';
	for (size_t i = 0; i < near->n; i++)
		used += (size_t)snprintf(near->text + used, sizeof(near->text) - used, "%s%s%s",
					 i ? ", " : " (did you mean ", near->best[i].name,
					 i + 1 == near->n ? "?)" : "");
	return near->text;
}
