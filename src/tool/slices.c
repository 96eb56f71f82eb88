// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/slices.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

/* With -i, slices are the user's intervals, as long as there are no more than these. */
#define MOST_INTERVALS 1024

void slices_begin(struct slices *s, uint64_t now, bool is_growing, size_t most_bytes)
{
	*s = (struct slices){ .is_growing = is_growing,
			      .begin_ns = now,
			      .length_ns = FIRST_SLICE_NS,
			      .due_ns = is_growing ? now + FIRST_SLICE_NS : UINT64_MAX,
			      .most_bytes = most_bytes };
}

void slices_fini(struct slices *s)
{
	free(s->slices);
	free(s->parts);
	free(s->counted);
	*s = (struct slices){};
}

static int compare_row_parts(const void *left, const void *right)
{
	const struct row_part *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->slice < b->slice ? -1 : a->slice > b->slice;
}

/* Sums wrap around, as in the store. */
static int64_t difference_of(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void merge_row_parts(struct slices *s)
{
	size_t n = 1;

	if (!s->n_parts)
		return;
	qsort(s->parts, s->n_parts, sizeof(*s->parts), compare_row_parts);
	for (size_t i = 1; i < s->n_parts; i++) {
		struct row_part *last = &s->parts[n - 1];

		if (compare_row_parts(last, &s->parts[i]) != 0) {
			s->parts[n++] = s->parts[i];
			continue;
		}
		last->count += s->parts[i].count;
		last->sum = difference_of(last->sum, difference_of(0, s->parts[i].sum));
	}
	s->n_parts = n;
}

/* Make one slice of each two neighbours. */
static void halve_slices(struct slices *s)
{
	for (size_t i = 0; i < s->n; i += 2) {
		struct profile_slice both = s->slices[i];

		if (i + 1 < s->n)
			both.end_ns = s->slices[i + 1].end_ns;
		s->slices[i / 2] = both;
	}
	s->n = (s->n + 1) / 2;
	for (size_t i = 0; i < s->n_parts; i++)
		s->parts[i].slice /= 2;
	merge_row_parts(s);
	s->length_ns *= 2;
}

void slices_end_one(struct slices *s, const struct store_row *rows, size_t n, uint64_t now)
{
	const size_t most = s->is_growing ? MOST_SLICES : MOST_INTERVALS;

	if (s->n == most || (s->n > 1 && s->n_parts * sizeof(*s->parts) > s->most_bytes))
		halve_slices(s);

	const uint64_t begin = s->n ? s->slices[s->n - 1].end_ns : 0;

	s->last_part = s->n_parts;
	for (size_t i = 0; i < n; i++) {
		if (i == s->n_counted)
			array_push(s->counted, s->n_counted, s->counted_capacity,
				   ((struct row_values){}));
		if (rows[i].count == s->counted[i].count)
			continue;
		array_push(s->parts, s->n_parts, s->part_capacity,
			   ((struct row_part){ (uint32_t)i, (uint32_t)s->n,
					       rows[i].count - s->counted[i].count,
					       difference_of(rows[i].sum, s->counted[i].sum) }));
		s->counted[i] = (struct row_values){ rows[i].count, rows[i].sum };
	}
	array_push(s->slices, s->n, s->capacity,
		   ((struct profile_slice){ begin, now - s->begin_ns }));
	if (s->is_growing)
		s->due_ns = now + s->length_ns;
}

struct store_row *slices_last_rows(const struct slices *s, const struct store_row *rows,
				   size_t *ret_n)
{
	struct store_row *ret = xcalloc(s->n_parts - s->last_part + 1, sizeof(*ret));
	size_t n = 0;

	for (size_t i = s->last_part; i < s->n_parts; i++) {
		ret[n] = rows[s->parts[i].row];
		ret[n].sum = s->parts[i].sum;
		ret[n++].count = s->parts[i].count;
	}
	*ret_n = n;
	return ret;
}

void slices_put(const struct slices *s, struct profile_builder *b, const uint32_t *stacks,
		bool of_sums)
{
	for (size_t i = 0; i < s->n; i++)
		(void)profile_builder_slice(b, s->slices[i].begin_ns, s->slices[i].end_ns);
	for (size_t i = 0; i < s->n_parts; i++)
		profile_builder_part(b, stacks[s->parts[i].row], s->parts[i].slice,
				     of_sums ? s->parts[i].sum : (int64_t)s->parts[i].count);
}
