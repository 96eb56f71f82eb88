// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/slices.h"

#include <stdlib.h>

#include "base/memory.h"

/* With -i, slices are the user's intervals, as long as there are no more than these. */
#define MOST_INTERVALS 1024

void slices_begin(struct slices *s, uint64_t now)
{
	s->begin_ns = now;
	s->length_ns = FIRST_SLICE_NS;
	s->due_ns = s->is_growing ? now + FIRST_SLICE_NS : UINT64_MAX;
}

void slices_fini(struct slices *s)
{
	free(s->slices);
	free(s->parts);
	free(s->counted);
	*s = (struct slices){};
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
	s->n_parts = profile_merge_parts(s->parts, s->n_parts);
	s->length_ns *= 2;
}

size_t slices_end_one(struct slices *s, const struct store_row *rows, size_t n, uint64_t now,
		      struct store_row *last)
{
	const size_t most = s->is_growing ? MOST_SLICES : MOST_INTERVALS;
	size_t n_last = 0;

	if (s->n == most || (s->n > 1 && s->n_parts * sizeof(*s->parts) > s->most_bytes))
		halve_slices(s);

	const uint64_t begin = s->n ? s->slices[s->n - 1].end_ns : 0;

	for (size_t i = 0; i < n; i++) {
		if (i == s->n_counted)
			array_push(s->counted, s->n_counted, s->counted_capacity,
				   ((struct row_values){}));

		struct store_row part = rows[i];

		part.count -= s->counted[i].count;
		part.sum = (int64_t)((uint64_t)part.sum - (uint64_t)s->counted[i].sum); /* wraps */
		if (!part.count)
			continue;
		if (last)
			last[n_last] = part;
		n_last++;
		array_push(s->parts, s->n_parts, s->part_capacity,
			   ((struct profile_part){ (uint32_t)i, (uint32_t)s->n,
						   s->of_sums ? part.sum : (int64_t)part.count }));
		s->counted[i] = (struct row_values){ rows[i].count, rows[i].sum };
	}
	array_push(s->slices, s->n, s->capacity,
		   ((struct profile_slice){ begin, now - s->begin_ns }));
	if (s->is_growing)
		s->due_ns = now + s->length_ns;
	return n_last;
}

void slices_put(const struct slices *s, struct profile_builder *b, const uint32_t *stacks)
{
	for (size_t i = 0; i < s->n; i++)
		(void)profile_builder_slice(b, s->slices[i].begin_ns, s->slices[i].end_ns);
	for (size_t i = 0; i < s->n_parts; i++)
		profile_builder_part(b, stacks[s->parts[i].stack], s->parts[i].slice,
				     s->parts[i].count);
}
