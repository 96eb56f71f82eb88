// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/seen.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

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

void seen_fini(struct seen_addresses *seen)
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

/* The slot for a change of @pc. Forgets all if it is of another version, or if room is short. */
static struct seen_address *seen_slot_to_change(struct seen_addresses *seen, uint64_t version,
						const struct user_pc *pc, bool *is_there)
{
	const bool is_small = 2 * seen->n >= seen->n_slots && seen->n_slots < MOST_SLOTS;
	const size_t n_slots = is_small ? 2 * seen->n_slots : seen->n_slots;

	if (is_small || seen->version != version || seen->n_frames > MOST_FRAMES) {
		seen_fini(seen);
		seen->version = version;
		seen->n_slots = n_slots ? n_slots : FEWEST_SLOTS;
		seen->slots = xcalloc(seen->n_slots, sizeof(*seen->slots));
	}

	struct seen_address *slot = seen_slot(seen, pc, is_there);

	seen->n += !slot->epoch;
	return slot;
}

const uint32_t *seen_get(const struct seen_addresses *seen, uint64_t version,
			 const struct user_pc *pc, size_t *ret_n)
{
	const struct seen_address *a;
	bool is_there;

	if (!pc->epoch || !seen->n_slots || seen->version != version)
		return NULL;
	a = seen_slot(seen, pc, &is_there);
	if (!is_there || !a->n)
		return NULL;
	*ret_n = a->n;
	return a->n == 1 ? &a->first : seen->frames + a->first;
}

void seen_put(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	      const uint32_t *frames, size_t n)
{
	struct seen_address *slot;
	bool is_there;

	if (!pc->epoch)
		return;
	slot = seen_slot_to_change(seen, version, pc, &is_there);
	*slot = (struct seen_address){ .epoch = pc->epoch,
				       .addr = pc->addr,
				       .first = n == 1 ? frames[0] : (uint32_t)seen->n_frames,
				       .n = (uint16_t)n,
				       .is_exact = pc->is_exact };
	for (size_t i = 0; n > 1 && i < n; i++)
		array_push(seen->frames, seen->n_frames, seen->cap_frames, frames[i]);
}

bool seen_note(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	       uint32_t pass)
{
	struct seen_address *slot;
	bool is_there;

	if (!pc->epoch)
		return true;
	slot = seen_slot_to_change(seen, version, pc, &is_there);
	if (is_there && (slot->n || slot->first == pass))
		return false;
	*slot = (struct seen_address){
		.epoch = pc->epoch, .addr = pc->addr, .first = pass, .is_exact = pc->is_exact
	};
	return true;
}

size_t seen_bytes(const struct seen_addresses *seen)
{
	return seen->n_slots * sizeof(*seen->slots) + seen->cap_frames * sizeof(*seen->frames);
}
