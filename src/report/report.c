// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"

#define BLOCK_FRAMES 65536

/* A slot of the hash table: the entry's number plus one, 0 if free, and its hash. */
struct slot {
	uint32_t entry;
	uint32_t hash;
};

struct report {
	struct report_entry *entries;
	size_t n, capacity;
	struct slot *slots; /* open addressing, at most half full */
	size_t n_slots;     /* power of two, or 0 */
	uint32_t **blocks;  /* the frames of all entries, in blocks that do not move */
	size_t n_blocks, cap_blocks;
	size_t used, size; /* frames in the last block */
	size_t n_frames;   /* frames that all blocks have room for */
	uint64_t total;
	uint64_t hidden;
	size_t n_hidden;
	bool is_finished;
};

struct report *report_new(void)
{
	return xcalloc(1, sizeof(struct report));
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_blocks; i++)
		free(r->blocks[i]);
	free(r->blocks);
	free(r->slots);
	free(r->entries);
	free(r);
}

void report_freep(struct report **r)
{
	report_free(*r);
	*r = NULL;
}

static size_t n_frames_of(const struct report_entry *entry)
{
	return (size_t)entry->n_kernel + entry->n_user;
}

static uint32_t hash_entry(const struct report_entry *entry)
{
	size_t n = n_frames_of(entry);
	uint64_t h = n ? hash_bytes(entry->frames, n * sizeof(*entry->frames)) : 0;

	if (entry->pid == 0 && entry->comm)
		h = hash_mix(h) ^ hash_bytes(entry->comm, strlen(entry->comm));
	return (uint32_t)hash_mix(h ^ (((uint64_t)entry->pid << 32) + entry->n_kernel));
}

static bool is_same_process(const struct report_entry *a, const struct report_entry *b)
{
	if (a->pid != b->pid)
		return false;
	if (!a->comm || !b->comm)
		return a->pid || a->comm == b->comm;
	return strcmp(a->comm, b->comm) == 0;
}

static bool is_same_entry(const struct report_entry *a, const struct report_entry *b)
{
	if (!is_same_process(a, b) || a->n_kernel != b->n_kernel || a->n_user != b->n_user)
		return false;

	size_t n = n_frames_of(a);

	return n == 0 || memcmp(a->frames, b->frames, n * sizeof(*a->frames)) == 0;
}

/* Copy the frames to an address that does not change. */
static const uint32_t *keep_frames(struct report *r, const uint32_t *frames, size_t n)
{
	if (n == 0)
		return NULL;
	if (r->size - r->used < n) {
		r->size = n > BLOCK_FRAMES ? n : BLOCK_FRAMES;
		r->used = 0;
		array_push(r->blocks, r->n_blocks, r->cap_blocks,
			   xreallocarray(NULL, r->size, sizeof(*frames)));
		r->n_frames += r->size;
	}

	uint32_t *copy = r->blocks[r->n_blocks - 1] + r->used;

	memcpy(copy, frames, n * sizeof(*frames));
	r->used += n;
	return copy;
}

static void grow_slots(struct report *r)
{
	const size_t n_slots = r->n_slots ? r->n_slots * 2 : 256;
	struct slot *slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t old = 0; old < r->n_slots; old++) {
		size_t i = r->slots[old].hash & (n_slots - 1);

		if (!r->slots[old].entry)
			continue;
		while (slots[i].entry)
			i = (i + 1) & (n_slots - 1);
		slots[i] = r->slots[old];
	}
	free(r->slots);
	r->slots = slots;
	r->n_slots = n_slots;
}

/* The slot of the entry that equals @entry, or the free slot where it belongs. */
static struct slot *find_slot(struct report *r, const struct report_entry *entry, uint32_t hash)
{
	size_t i = hash & (r->n_slots - 1);

	for (;; i = (i + 1) & (r->n_slots - 1)) {
		struct slot *slot = &r->slots[i];

		if (!slot->entry)
			return slot;
		if (slot->hash == hash && is_same_entry(&r->entries[slot->entry - 1], entry))
			return slot;
	}
}

void report_add(struct report *r, const struct report_entry *entry)
{
	assert(!r->is_finished);
	if (r->n * 2 >= r->n_slots)
		grow_slots(r);
	r->total += entry->count;

	const uint32_t hash = hash_entry(entry);
	struct slot *slot = find_slot(r, entry, hash);

	if (slot->entry) {
		struct report_entry *known = &r->entries[slot->entry - 1];

		known->count += entry->count;
		if (!known->comm)
			known->comm = entry->comm;
		return;
	}

	struct report_entry copy = *entry;

	copy.frames = keep_frames(r, entry->frames, n_frames_of(entry));
	array_push(r->entries, r->n, r->capacity, copy);
	*slot = (struct slot){ .entry = r->n, .hash = hash };
}

/* The key of sorting. Has the entry's number, because qsort() does not keep the order of equals. */
struct rank {
	uint64_t count;
	size_t entry;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

void report_finish(struct report *r, uint64_t min, size_t top)
{
	struct rank *ranks = xcalloc(r->n + 1, sizeof(*ranks));
	struct report_entry *kept = xcalloc(r->n + 1, sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		ranks[i] = (struct rank){ .count = r->entries[i].count, .entry = i };
	if (r->n)
		qsort(ranks, r->n, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < r->n; i++) {
		if (ranks[i].count < min || (top && r->n - i > top)) {
			r->hidden += ranks[i].count;
			r->n_hidden++;
		} else {
			kept[n++] = r->entries[ranks[i].entry];
		}
	}
	free(ranks);
	free(r->entries);
	free(r->slots);
	r->entries = kept;
	r->capacity = r->n + 1;
	r->n = n;
	r->slots = NULL; /* it had numbers of the old order */
	r->n_slots = 0;
	r->is_finished = true;
}

size_t report_n(const struct report *r)
{
	return r->n;
}

const struct report_entry *report_entry_at(const struct report *r, size_t i)
{
	assert(i < r->n);
	return &r->entries[i];
}

uint64_t report_total(const struct report *r)
{
	return r->total;
}

uint64_t report_hidden(const struct report *r, size_t *n_entries)
{
	if (n_entries)
		*n_entries = r->n_hidden;
	return r->hidden;
}

size_t report_bytes(const struct report *r)
{
	return sizeof(*r) + r->capacity * sizeof(*r->entries) + r->n_slots * sizeof(*r->slots) +
	       r->cap_blocks * sizeof(*r->blocks) + r->n_frames * sizeof(**r->blocks);
}
