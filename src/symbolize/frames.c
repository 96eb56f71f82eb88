// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "files/question.h"
#include "symbolize/state.h"

/* --- addresses --- */

#define FEWEST_SLOTS 4096
#define MOST_SLOTS 262144 /* 6 MiB */
#define MOST_FRAMES (1U << 20)

/* An address is in one of so many slots from that of its hash. A process may choose addresses. */
#define WAYS 8

struct seen_address {
	uint64_t epoch; /* 0: the slot is free */
	uint64_t addr;
	uint32_t first; /* its frame; of several, the index in @frames; without frames, the pass */
	uint16_t n;
	bool is_exact;
};

static void seen_fini(struct seen_addresses *seen)
{
	free(seen->slots);
	free(seen->frames);
	*seen = (struct seen_addresses){};
}

/* The slot of @pc. If *@is_there is false, it is free, or another address has it. */
static struct seen_address *seen_slot(const struct seen_addresses *seen, const struct user_pc *pc,
				      bool *is_there)
{
	const uint64_t hash = hash_mix(pc->addr ^ hash_mix(pc->epoch) ^ pc->is_exact);

	for (size_t i = 0; i < WAYS; i++) {
		struct seen_address *a = &seen->slots[(hash + i) & (seen->n_slots - 1)];

		*is_there =
			a->epoch == pc->epoch && a->addr == pc->addr && a->is_exact == pc->is_exact;
		if (*is_there || !a->epoch)
			return a;
	}
	return &seen->slots[hash & (seen->n_slots - 1)];
}

const uint32_t *seen_get(const struct seen_addresses *seen, uint64_t version,
			 const struct user_pc *pc, size_t *ret_n)
{
	const struct seen_address *a;
	bool is_there;

	*ret_n = 0;
	if (!pc->epoch || !seen->n_slots || seen->version != version)
		return NULL;
	a = seen_slot(seen, pc, &is_there);
	if (!is_there || (!a->n && a->first != seen->pass))
		return NULL;
	*ret_n = a->n;
	return a->n <= 1 ? &a->first : seen->frames + a->first;
}

/* Forgets all if it is of another version, or if room is short. */
void seen_put(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	      const uint32_t *frames, size_t n)
{
	const bool is_small = 2 * seen->n >= seen->n_slots && seen->n_slots < MOST_SLOTS;
	const size_t n_slots = is_small ? 2 * seen->n_slots : seen->n_slots;
	const uint32_t pass = seen->pass;
	struct seen_address *slot;
	bool is_there;

	if (!pc->epoch)
		return;
	if (is_small || seen->version != version || seen->n_frames > MOST_FRAMES) {
		seen_fini(seen);
		seen->version = version;
		seen->pass = pass;
		seen->n_slots = n_slots ? n_slots : FEWEST_SLOTS;
		seen->slots = xcalloc(seen->n_slots, sizeof(*seen->slots));
	}
	slot = seen_slot(seen, pc, &is_there);
	seen->n += !slot->epoch;
	*slot = (struct seen_address){ .epoch = pc->epoch,
				       .addr = pc->addr,
				       .first = n == 0   ? pass
						: n == 1 ? frames[0]
							 : (uint32_t)seen->n_frames,
				       .n = (uint16_t)n,
				       .is_exact = pc->is_exact };
	for (size_t i = 0; n > 1 && i < n; i++)
		array_push(seen->frames, seen->n_frames, seen->cap_frames, frames[i]);
}

/* --- the table --- */

void frames_init(struct frames *f)
{
	*f = (struct frames){ .strings = strtab_new() };
}

void frames_fini(struct frames *f)
{
	u64_map_fini(&f->numbers);
	u64_map_fini(&f->kernel_seen[0]);
	u64_map_fini(&f->kernel_seen[1]);
	u64_map_fini(&f->kernel_images);
	u64_map_fini(&f->user_images);
	seen_fini(&f->seen);
	free(f->keys);
	free(f->table.frames);
	free(f->table.images);
	strtab_free(f->strings);
}

size_t frames_bytes(const struct frames *f)
{
	return f->table.capacity * sizeof(*f->table.frames) + f->cap_keys * sizeof(*f->keys) +
	       f->numbers.n_slots * sizeof(*f->numbers.slots) + strtab_bytes(f->strings) +
	       f->seen.n_slots * sizeof(*f->seen.slots) +
	       f->seen.cap_frames * sizeof(*f->seen.frames);
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

uint32_t frames_add_image(struct frames *f, const char *path, const uint8_t *id, size_t n,
			  struct frame_image image)
{
	char hex[2 * MOST_BUILD_ID_BYTES + 1] = "";

	for (size_t i = 0; i < n && i < MOST_BUILD_ID_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
	image.path = strtab_add(f->strings, path);
	image.build_id = hex[0] ? strtab_add(f->strings, hex) : NULL;
	array_push(f->table.images, f->table.n_images, f->table.image_capacity, image);
	return (uint32_t)(f->table.n_images - 1);
}
