// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void frames_fini(struct frames *f)
{
	u64_map_fini(&f->numbers);
	free(f->keys);
	free(f->table.frames);
	free(f->table.images);
	*f = (struct frames){};
}

size_t frames_bytes(const struct frames *f)
{
	return f->table.capacity * sizeof(*f->table.frames) + f->cap_keys * sizeof(*f->keys) +
	       f->numbers.n_slots * sizeof(*f->numbers.slots);
}

uint32_t frames_number(struct frames *f, const struct frame_key *key, bool *is_new)
{
	uint64_t hash = hash_bytes(key, sizeof(*key));

	for (;; hash++) {
		uint32_t next = f->table.n;
		uint32_t number = *u64_map_put(&f->numbers, hash, next, is_new);

		if (*is_new) {
			array_push(f->keys, f->n_keys, f->cap_keys, *key);
			array_push(f->table.frames, f->table.n, f->table.capacity,
				   ((struct frame){ .image = NO_IMAGE }));
			return number;
		}
		if (memcmp(&f->keys[number], key, sizeof(*key)) == 0)
			return number;
	}
}
