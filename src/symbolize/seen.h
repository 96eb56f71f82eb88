/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/seen.h - a cache: the frames of an address. Stacks of a report share most addresses, so
 * nobody has to search mappings and symbols for them again.
 *
 * The key has the epoch (struct user_pc) in place of the process: where two epochs are equal,
 * addresses mean the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/symbolize.h"

struct seen_address;

/* A zeroed struct is empty. */
struct seen_addresses {
	struct seen_address *slots; /* by a hash; a new address may replace another one */
	size_t n, n_slots;          /* @n_slots: power of two, or 0 */
	uint32_t *frames;           /* of addresses with several */
	size_t n_frames, cap_frames;
	uint64_t version; /* images_version() of all entries */
};

void seen_fini(struct seen_addresses *seen);

/* The *@ret_n frames of @pc, innermost first. NULL: not known. Lent until the next change. */
const uint32_t *seen_get(const struct seen_addresses *seen, uint64_t version,
			 const struct user_pc *pc, size_t *ret_n);
void seen_put(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	      const uint32_t *frames, size_t n);

/* Note that somebody looks at @pc in @pass. False: it has frames, or was noted in this pass. */
bool seen_note(struct seen_addresses *seen, uint64_t version, const struct user_pc *pc,
	       uint32_t pass);

size_t seen_bytes(const struct seen_addresses *seen);
