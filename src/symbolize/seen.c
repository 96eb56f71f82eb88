// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/seen.h"

/* A key has an image's number above so many bits of an offset. */
#define OFFSET_BITS 32

void seen_places_fini(struct seen_places *seen)
{
	u64_map_fini(&seen->chains[0]);
	u64_map_fini(&seen->chains[1]);
}

/* False: it has none. Where a region begins, the byte before a return address is in another one. */
static bool key_of(const struct images *images, const struct image_names *names,
		   const struct user_pc *pc, const struct place *where, uint64_t *ret)
{
	*ret = (uint64_t)where->image << OFFSET_BITS | where->offset;
	return images_kind(images, where->image) != IMAGE_NO_FILE &&
	       !image_names_may_be_made(names, where->image) &&
	       (pc->is_exact || pc->addr > where->start) && where->offset >> OFFSET_BITS == 0;
}

static void forget_old(struct seen_places *seen, const struct images *images)
{
	if (seen->version == images_version(images))
		return;
	seen->version = images_version(images);
	u64_map_clear(&seen->chains[0]);
	u64_map_clear(&seen->chains[1]);
}

const uint32_t *seen_places_get(struct seen_places *seen, const struct images *images,
				const struct image_names *names, const struct user_pc *pc,
				const struct place *where)
{
	uint64_t key;

	forget_old(seen, images);
	return key_of(images, names, pc, where, &key)
		       ? u64_map_get(&seen->chains[pc->is_exact], key)
		       : NULL;
}

void seen_places_put(struct seen_places *seen, const struct images *images,
		     const struct image_names *names, const struct user_pc *pc,
		     const struct place *where, uint32_t chain)
{
	uint64_t key;

	forget_old(seen, images);
	if (key_of(images, names, pc, where, &key))
		*u64_map_put(&seen->chains[pc->is_exact], key, chain, NULL) = chain;
}

size_t seen_places_bytes(const struct seen_places *seen)
{
	return (seen->chains[0].n_slots + seen->chains[1].n_slots) * sizeof(struct u64_map_slot);
}
