// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

/* Random bytes of the kernel. They never change after the start, so that a fork has them, too. */
static uint64_t seeds[2];

__attribute__((__constructor__)) static void choose_seeds(void)
{
	/* At boot the kernel may have none yet. Then the time is better than nothing. */
	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) != (ssize_t)sizeof(seeds))
		seeds[0] = hash_mix(clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)getpid() << 40);
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein, 2012), as hash tables of many languages have it. */
uint64_t hash_bytes(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t v[4] = { seeds[0] ^ 0x736f6d6570736575, seeds[1] ^ 0x646f72616e646f6d,
			  seeds[0] ^ 0x6c7967656e657261, seeds[1] ^ 0x7465646279746573 };
	uint64_t last = (uint64_t)size << 56, word;

	for (; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < size; i++)
		last |= (uint64_t)p[i] << 8 * i;
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void u64_map_fini(struct u64_map *map)
{
	free(map->slots);
	*map = (struct u64_map){};
}

void u64_map_clear(struct u64_map *map)
{
	if (map->slots)
		memset(map->slots, 0, map->n_slots * sizeof(*map->slots));
	map->n = 0;
}

/* The slot of @key, or the free slot where it belongs. */
static struct u64_map_slot *find_map_slot(struct u64_map_slot *slots, size_t n_slots, uint64_t key)
{
	size_t i = hash_mix(key ^ seeds[0]) & (n_slots - 1);

	while (slots[i].used && slots[i].key != key)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static void grow_map_slots(struct u64_map *map)
{
	size_t n_slots = map->n_slots ? map->n_slots * 2 : 64;
	struct u64_map_slot *slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].used)
			*find_map_slot(slots, n_slots, map->slots[i].key) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->n_slots = n_slots;
}

uint32_t *u64_map_get(const struct u64_map *map, uint64_t key)
{
	if (!map->n_slots)
		return NULL;

	struct u64_map_slot *slot = find_map_slot(map->slots, map->n_slots, key);

	return slot->used ? &slot->value : NULL;
}

uint32_t *u64_map_put(struct u64_map *map, uint64_t key, uint32_t initial, bool *is_new)
{
	if (map->n * 2 >= map->n_slots)
		grow_map_slots(map);

	struct u64_map_slot *slot = find_map_slot(map->slots, map->n_slots, key);
	bool absent = !slot->used;

	if (absent) {
		*slot = (struct u64_map_slot){ .key = key, .value = initial, .used = 1 };
		map->n++;
	}
	if (is_new)
		*is_new = absent;
	return &slot->value;
}
