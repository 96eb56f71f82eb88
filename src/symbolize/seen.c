// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/seen.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* A key has the image's number above the offset, which has OFFSET_BITS. */
#define OFFSET_BITS 32

/* This many addresses take 2 MiB. */
#define MOST_RECENT 65536
#define FEWEST_RECENT 256

struct seen_address {
	uint64_t process, epoch; /* see struct user_pc; 0: there is none */
	uint64_t addr;
	uint32_t chain;
	bool is_exact;
};

void seen_places_fini(struct seen_places *seen)
{
	free(seen->recent);
	u64_map_fini(&seen->chains[0]);
	u64_map_fini(&seen->chains[1]);
}

/*
 * Make the key of a place. False: it has none. At the start of a region, the byte before a return
 * address is in another region.
 */
static bool make_seen_key(const struct images *images, const struct image_names *names,
			  const struct user_pc *pc, const struct place *where, uint64_t *ret)
{
	*ret = (uint64_t)where->image << OFFSET_BITS | where->offset;
	return images_kind(images, where->image) != IMAGE_NO_FILE &&
	       !image_names_may_be_made(names, where->image) &&
	       (pc->is_exact || pc->addr > where->start) && where->offset >> OFFSET_BITS == 0;
}

static void forget_old_places(struct seen_places *seen, const struct images *images)
{
	if (seen->version == images_version(images))
		return;
	seen->version = images_version(images);
	u64_map_clear(&seen->chains[0]);
	u64_map_clear(&seen->chains[1]);
	cleanup_free_p(&seen->recent);
	seen->n_recent = 0;
}

const uint32_t *seen_places_get(struct seen_places *seen, const struct images *images,
				const struct image_names *names, const struct user_pc *pc,
				const struct place *where)
{
	uint64_t key;

	forget_old_places(seen, images);
	return make_seen_key(images, names, pc, where, &key)
		       ? u64_map_get(&seen->chains[pc->is_exact], key)
		       : NULL;
}

bool seen_places_put(struct seen_places *seen, const struct images *images,
		     const struct image_names *names, const struct user_pc *pc,
		     const struct place *where, uint32_t chain)
{
	uint64_t key;

	forget_old_places(seen, images);
	if (!make_seen_key(images, names, pc, where, &key))
		return false;
	*u64_map_put(&seen->chains[pc->is_exact], key, chain, NULL) = chain;
	return true;
}

void seen_places_expect(struct seen_places *seen, size_t n_places)
{
	size_t n = FEWEST_RECENT;

	while (n < n_places && n < MOST_RECENT)
		n *= 2;
	if (n <= seen->n_recent)
		return;
	free(seen->recent);
	seen->recent = xcalloc(n, sizeof(*seen->recent));
	seen->n_recent = n;
}

static struct seen_address *recent_slot(const struct seen_places *seen, const struct user_pc *pc)
{
	const uint64_t hash = hash_mix(pc->addr ^ hash_mix(pc->process) ^ pc->is_exact);

	return &seen->recent[hash & (seen->n_recent - 1)];
}

bool seen_places_recall(struct seen_places *seen, const struct images *images,
			const struct user_pc *pc, uint32_t *chain)
{
	const struct seen_address *a;

	forget_old_places(seen, images);
	if (!pc->epoch || !seen->n_recent)
		return false;
	a = recent_slot(seen, pc);
	*chain = a->chain;
	return a->addr == pc->addr && a->epoch == pc->epoch && a->process == pc->process &&
	       a->is_exact == pc->is_exact;
}

void seen_places_remember(struct seen_places *seen, const struct user_pc *pc, uint32_t chain)
{
	if (!pc->epoch)
		return;
	/* As many slots as there are places, so that a small report takes little memory. */
	seen_places_expect(seen, seen->chains[0].n_slots + seen->chains[1].n_slots);
	*recent_slot(seen, pc) = (struct seen_address){ .process = pc->process,
							.epoch = pc->epoch,
							.addr = pc->addr,
							.chain = chain,
							.is_exact = pc->is_exact };
}

size_t seen_places_bytes(const struct seen_places *seen)
{
	return (seen->chains[0].n_slots + seen->chains[1].n_slots) * sizeof(struct u64_map_slot) +
	       seen->n_recent * sizeof(*seen->recent);
}
