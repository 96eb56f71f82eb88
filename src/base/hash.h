/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/hash.h - hash functions, and a hash table from 64-bit keys to 32-bit values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bijective mix of 64 bits (the finalizer of splitmix64). */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return x;
}

/*
 * A hash with a secret key, which differs from process to process: nobody can make a file that has
 * two texts of one hash. So callers may take equal hashes for equal texts.
 */
uint64_t hash_bytes(const void *data, size_t size);

/*
 * A table with open addressing and linear probing, at most half full. Keys may have
 * any value. A zeroed struct is an empty table.
 */
struct u64_map {
	struct u64_map_slot *slots;
	size_t n;
	size_t n_slots; /* power of two, or 0 */
};

struct u64_map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

void u64_map_fini(struct u64_map *map);
void u64_map_clear(struct u64_map *map); /* keeps the memory */

/* The value of @key, or NULL if absent. The pointer is valid until the next put. */
uint32_t *u64_map_get(const struct u64_map *map, uint64_t key);

/*
 * The value of @key, added as @initial if absent. *@is_new tells whether it was added; @is_new may
 * be NULL. The pointer is valid until the next put.
 */
uint32_t *u64_map_put(struct u64_map *map, uint64_t key, uint32_t initial, bool *is_new);
