// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/near.h"

#include <stdio.h>
#include <string.h>

/*
 * The unit of distances: one edit (insert, delete, replace, swap of neighbours). Other likenesses
 * have places between.
 */
#define EDIT 4
#define BEGINS_WITH 5 /* foo for foo.isra.0: more than one edit */
#define CONTAINS 9    /* nanosleep for do_nanosleep: more than two */

static bool is_wildcard(char c)
{
	return strchr("*?[]\\^$().|+{}", c) != NULL; /* also for NUL */
}

void near_init(struct near *near, const char *wanted)
{
	const char *best = wanted, *at = wanted;
	size_t n_best = 0;

	*near = (struct near){};
	while (*at) {
		size_t n = 0;

		if (*at == '[') /* skip the alternatives, which cannot be compared */
			at += strcspn(at, "]");
		while (!is_wildcard(at[n]))
			n++;
		if (n > n_best) {
			best = at;
			n_best = n;
		}
		at += n;
		at += *at != '\0';
	}
	near->is_free_before = best > wanted && best[-1] != '^';
	near->is_free_behind = best[n_best] != '\0' && best[n_best] != '$';
	near->n_stem = n_best < sizeof(near->stem) ? n_best : sizeof(near->stem) - 1;
	memcpy(near->stem, best, near->n_stem);
}

static unsigned least_edits(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * The edits from the stem to @name, or to a part of it next to wildcards. Rows are the name's
 * characters, columns the stem's. row[j] is the cost of a match of the stem's first j characters.
 */
static unsigned edit_distance(const struct near *near, const char *name, size_t n)
{
	unsigned rows[3][sizeof(near->stem) + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];
	size_t n_stem = near->n_stem;
	unsigned best;

	for (size_t j = 0; j <= n_stem; j++)
		last[j] = (unsigned)j;
	best = last[n_stem];
	for (size_t i = 1; i <= n; i++) {
		row[0] = near->is_free_before ? 0 : (unsigned)i;
		for (size_t j = 1; j <= n_stem; j++) {
			unsigned differs = name[i - 1] != near->stem[j - 1];

			row[j] = least_edits(last[j - 1] + differs,
					     least_edits(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && name[i - 1] == near->stem[j - 2] &&
			    name[i - 2] == near->stem[j - 1])
				row[j] = least_edits(row[j], before[j - 2] + 1);
		}
		best = least_edits(best, row[n_stem]);

		unsigned *oldest = before;

		before = last;
		last = row;
		row = oldest;
	}
	return near->is_free_behind ? best : last[n_stem];
}

/* The most edits that pass for a typing error. */
static unsigned most_edits(const struct near *near)
{
	return least_edits((unsigned)(near->n_stem + 1) / 4, 3);
}

/* The distance of @name from the stem; 0: it is not near. */
static unsigned distance_from_stem(const struct near *near, const char *name, size_t n)
{
	unsigned most = most_edits(near), found = 0;
	const char *part;

	/* Most names are too far by their lengths alone, which is a cheap test. */
	if (n + most >= near->n_stem &&
	    (n <= near->n_stem + most || near->is_free_before || near->is_free_behind)) {
		unsigned n_edits = edit_distance(near, name, n);

		if (n_edits <= most)
			found = n_edits * EDIT + 1;
	}
	part = near->n_stem >= 4 ? strstr(name, near->stem) : NULL;
	if (part) {
		unsigned like = part == name ? BEGINS_WITH : CONTAINS;

		found = found ? least_edits(found, like) : like;
	}
	return found;
}

/* Does (@d, @name) belong before entry @i? Shorter names come first, then the alphabet decides. */
static bool is_nearer_than(const struct near *near, size_t i, unsigned d, const char *name)
{
	const char *other = near->best[i].name;
	size_t n = strlen(name), n_other = strlen(other);

	if (d != near->best[i].distance)
		return d < near->best[i].distance;
	if (n != n_other)
		return n < n_other;
	return strcmp(name, other) < 0;
}

void near_offer(struct near *near, const char *name)
{
	size_t n = strnlen(name, NEAR_NAME_BYTES), at = 0;
	unsigned d;

	if (near->n_stem == 0 || n == NEAR_NAME_BYTES)
		return;
	d = distance_from_stem(near, name, n);
	if (d == 0)
		return;
	for (size_t i = 0; i < near->n; i++)
		if (strcmp(near->best[i].name, name) == 0)
			return;
	while (at < near->n && !is_nearer_than(near, at, d, name))
		at++;
	if (at == NEAR_MAX)
		return;
	if (near->n < NEAR_MAX)
		near->n++;
	for (size_t i = near->n - 1; i > at; i--)
		near->best[i] = near->best[i - 1];
	memcpy(near->best[at].name, name, n + 1);
	near->best[at].distance = d;
}

void near_text(const struct near *near, char *to, size_t size)
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < near->n && used < size; i++) {
		int n = snprintf(to + used, size - used, "%s%s%s", i ? ", " : " (did you mean ",
				 near->best[i].name, i + 1 == near->n ? "?)" : "");

		used += n > 0 ? (size_t)n : 0;
	}
}
