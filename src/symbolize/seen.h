/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/seen.h - chains of frames that were found at places in names, for all processes that
 * have the files mapped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "processes/processes.h"
#include "symbolize/image_names.h"
#include "symbolize/symbolize.h"

struct seen_address;

/* A zeroed one is empty. */
struct seen_places {
	struct u64_map chains[2];    /* [1]: of exact addresses */
	uint64_t version;            /* images_version() when they were found */
	struct seen_address *recent; /* by a hash; the last one with a hash is kept */
	size_t n_recent;             /* power of two, or 0 */
};

void seen_places_fini(struct seen_places *seen);

/* What was put for @pc, which lies at @where; NULL: nothing. Lent until the next put. */
const uint32_t *seen_places_get(struct seen_places *seen, const struct images *images,
				const struct image_names *names, const struct user_pc *pc,
				const struct place *where);

/* Nothing is kept of a place that is in no file, or whose code may have been made there. */
void seen_places_put(struct seen_places *seen, const struct images *images,
		     const struct image_names *names, const struct user_pc *pc,
		     const struct place *where, uint32_t chain);

/*
 * The same for @pc in its process, without a look at what that has mapped. seen_places_recall()
 * returns false for what was not put, or was forgotten for others.
 */
bool seen_places_recall(struct seen_places *seen, const struct images *images,
			const struct user_pc *pc, uint32_t *chain);
void seen_places_remember(struct seen_places *seen, const struct user_pc *pc, uint32_t chain);

size_t seen_places_bytes(const struct seen_places *seen);
