// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/known.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

#define LEAST_TO_COMPACT 1024

void known_fini(struct known_list *k)
{
	free(k->list);
	u64_map_fini(&k->numbers);
}

/* Drop the entries of processes without a space. */
static void compact_known(struct known_list *k)
{
	size_t n = 0;

	u64_map_clear(&k->numbers);
	for (size_t i = 0; i < k->n; i++) {
		if (!k->list[i].space.n)
			continue;
		k->list[n] = k->list[i];
		(void)u64_map_put(&k->numbers, k->list[n].tgid, (uint32_t)n, NULL);
		n++;
	}
	k->n = n;
	k->n_to_compact = n < LEAST_TO_COMPACT / 2 ? LEAST_TO_COMPACT : 2 * n;
}

struct known *known_of(struct known_list *k, uint32_t tgid)
{
	bool is_new;
	uint32_t i;

	if (k->n >= k->n_to_compact)
		compact_known(k);
	i = *u64_map_put(&k->numbers, tgid, (uint32_t)k->n, &is_new);

	if (is_new)
		array_push(k->list, k->n, k->capacity, (struct known){ .tgid = tgid });
	return &k->list[i];
}

const struct known *known_find(const struct known_list *k, uint32_t tgid)
{
	const uint32_t *i = u64_map_get(&k->numbers, tgid);

	return i ? &k->list[*i] : NULL;
}

struct known *known_longest(const struct known_list *k, const struct known *asker)
{
	struct known *longest = NULL;

	for (size_t i = 0; i < k->n; i++) {
		struct known *known = &k->list[i];

		if (known != asker && known->space.n > (longest ? longest->space.n : 0))
			longest = known;
	}
	return longest;
}
