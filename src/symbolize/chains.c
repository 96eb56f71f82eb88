// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/chains.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void chains_fini(struct chains *c)
{
	free(c->words);
	u64_map_fini(&c->places);
	*c = (struct chains){};
}

uint32_t chains_add(struct chains *c, const uint32_t *frames, size_t n)
{
	uint64_t hash = hash_bytes(frames, n * sizeof(*frames));
	bool is_new;

	if (n == 1)
		return frames[0];
	for (;; hash++) {
		uint32_t place = *u64_map_put(&c->places, hash, (uint32_t)c->n, &is_new);

		if (is_new)
			break;
		if (c->words[place] == n &&
		    memcmp(c->words + place + 1, frames, n * sizeof(*frames)) == 0)
			return CHAIN | place;
	}

	uint32_t place = (uint32_t)c->n;

	array_push(c->words, c->n, c->capacity, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		array_push(c->words, c->n, c->capacity, frames[i]);
	return CHAIN | place;
}

const uint32_t *chains_get(const struct chains *c, const uint32_t *number, size_t *ret_n)
{
	if (!(*number & CHAIN)) {
		*ret_n = 1;
		return number;
	}

	const uint32_t *words = c->words + (*number & ~CHAIN);

	*ret_n = words[0];
	return words + 1;
}
