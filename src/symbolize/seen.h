/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/seen.h - a cache: the chain of frames of a place, for all processes that map the file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "processes/processes.h"
#include "symbolize/image_names.h"
#include "symbolize/symbolize.h"

struct seen_address;

/* A zeroed struct is empty. */
struct seen_places {
	struct u64_map chains[2];    /* place -> chain; [1]: for exact addresses */
	uint64_t version;            /* images_version() of all entries */
	struct seen_address *recent; /* by a hash; a new entry replaces that of its hash */
	size_t n_recent;             /* power of two, or 0 */
};

void seen_places_fini(struct seen_places *seen);

/* The chain that was put for @pc at @where; NULL: none. Lent until the next put. */
const uint32_t *seen_places_get(struct seen_places *seen, const struct images *images,
				const struct image_names *names, const struct user_pc *pc,
				const struct place *where);

/* Keep @chain. False: the place is in no file, or a process may have made its code. */
bool seen_places_put(struct seen_places *seen, const struct images *images,
		     const struct image_names *names, const struct user_pc *pc,
		     const struct place *where, uint32_t chain);

/*
 * The same by process and address, so that nobody has to search the process's mappings. False:
 * there is no entry, or another one has replaced it.
 */
#define CHAIN_WANTED UINT32_MAX /* in place of a chain's number: somebody has put off the name */
bool seen_places_recall(struct seen_places *seen, const struct images *images,
			const struct user_pc *pc, uint32_t *chain);
void seen_places_remember(struct seen_places *seen, const struct user_pc *pc, uint32_t chain);

/* Make room to recall @n addresses. */
void seen_places_expect(struct seen_places *seen, size_t n);

size_t seen_places_bytes(const struct seen_places *seen);
