// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bpf/tables.h"

#define PIECE 32U
/* No piece has place 0. */
#define FIRST_PLACE PIECE

struct piece {
	uint32_t place;
	uint32_t bytes;
};

struct pieces {
	struct piece *list;
	size_t n, capacity;
};

struct unwind_memory {
	struct object *object;
	struct pieces free;    /* by place, adjacent ones joined */
	struct pieces dropped; /* programs may still read them */
	uint32_t n_slabs, max_slabs;
	uint64_t used;
};

/* Insert @piece by its place, and join it with adjacent ones. */
static void add_free(struct pieces *free, struct piece piece)
{
	size_t at = free->n;

	array_push(free->list, free->n, free->capacity, piece);
	while (at > 0 && free->list[at - 1].place > piece.place) {
		free->list[at] = free->list[at - 1];
		at--;
	}
	free->list[at] = piece;
	if (at + 1 < free->n && piece.place + piece.bytes == free->list[at + 1].place) {
		free->list[at].bytes += free->list[at + 1].bytes;
		memmove(&free->list[at + 1], &free->list[at + 2],
			(--free->n - at - 1) * sizeof(piece));
	}
	if (at > 0 && free->list[at - 1].place + free->list[at - 1].bytes == piece.place) {
		free->list[at - 1].bytes += free->list[at].bytes;
		memmove(&free->list[at], &free->list[at + 1], (--free->n - at) * sizeof(piece));
	}
}

static void note_slab(struct unwind_memory *m)
{
	const uint32_t start = m->n_slabs ? m->n_slabs * SLAB_BYTES : FIRST_PLACE;

	m->n_slabs++;
	add_free(&m->free, (struct piece){ start, m->n_slabs * SLAB_BYTES - start });
}

struct unwind_memory *unwind_memory_new(struct object *object, uint64_t max_bytes)
{
	struct unwind_memory *m = xcalloc(1, sizeof(*m));
	const uint64_t slabs = max_bytes / SLAB_BYTES;

	m->object = object;
	m->max_slabs = slabs < 1 ? 1 : slabs < MOST_SLABS ? (uint32_t)slabs : MOST_SLABS;
	note_slab(m);
	return m;
}

void unwind_memory_free(struct unwind_memory *m)
{
	if (!m)
		return;
	free(m->free.list);
	free(m->dropped.list);
	free(m);
}

static uint32_t whole_pieces(size_t bytes)
{
	return ((uint32_t)bytes + PIECE - 1) / PIECE * PIECE;
}

/* Allocate from the smallest free piece that is large enough. False: there is none. */
static bool take_free_piece(struct unwind_memory *m, uint32_t bytes, uint32_t *ret)
{
	struct pieces *free = &m->free;
	struct piece *best = NULL;

	for (size_t i = 0; i < free->n; i++)
		if (free->list[i].bytes >= bytes && (!best || free->list[i].bytes < best->bytes))
			best = &free->list[i];
	if (!best)
		return false;
	*ret = best->place;
	best->place += bytes;
	best->bytes -= bytes;
	if (!best->bytes)
		memmove(best, best + 1, (size_t)(free->list + --free->n - best) * sizeof(*best));
	m->used += bytes;
	return true;
}

static int compare_places(const void *left, const void *right)
{
	const struct unwind_space *a = left, *b = right;

	return a->mappings < b->mappings ? -1 : a->mappings > b->mappings;
}

/*
 * Free the dropped pieces, after all programs that may read them have ended. A list that a child
 * still uses stays dropped: BPF has given the child its parent's list.
 */
static int reclaim_dropped(struct unwind_memory *m, struct error *e)
{
	cleanup_free struct unwind_space *spaces = xcalloc(MOST_SPACES, sizeof(*spaces));
	const size_t n_dropped = m->dropped.n;
	int err = object_wait_for_programs(m->object, e);
	size_t n;

	if (err)
		return err;
	n = object_spaces(m->object, NULL, spaces, MOST_SPACES);
	qsort(spaces, n, sizeof(*spaces), compare_places);
	m->dropped.n = 0;
	for (size_t i = 0; i < n_dropped; i++) {
		struct piece piece = m->dropped.list[i];
		struct unwind_space key = { .mappings = piece.place };

		if (bsearch(&key, spaces, n, sizeof(*spaces), compare_places))
			m->dropped.list[m->dropped.n++] = piece;
		else
			add_free(&m->free, piece);
	}
	return 0;
}

static int allocate_piece(struct unwind_memory *m, uint32_t bytes, uint32_t *ret, struct error *e)
{
	bool is_reclaimed = false;
	int err = 0;

	while (!err && !take_free_piece(m, bytes, ret)) {
		if (m->dropped.n && !is_reclaimed) {
			err = reclaim_dropped(m, e);
			is_reclaimed = true;
		} else if (m->n_slabs < m->max_slabs) {
			err = object_add_slab(m->object, e);
			if (!err)
				note_slab(m);
		} else {
			err = error_set(e, -E2BIG, "unwind-table memory is full");
		}
	}
	return err;
}

int unwind_memory_allocate(struct unwind_memory *m, size_t bytes, uint32_t *ret, struct error *e)
{
	if (bytes > unwind_memory_most(m))
		return error_set(e, -E2BIG, "unwind-table memory is full");
	return allocate_piece(m, whole_pieces(bytes), ret, e);
}

void *unwind_memory_at(const struct unwind_memory *m, uint32_t place)
{
	return object_slabs(m->object) + place;
}

const void *unwind_memory_find(const struct unwind_memory *m, uint32_t place, size_t bytes)
{
	const uint64_t end = m->n_slabs * (uint64_t)SLAB_BYTES;

	return place % 4 || bytes > end || place > end - bytes ? NULL : unwind_memory_at(m, place);
}

void unwind_memory_drop(struct unwind_memory *m, uint32_t place, size_t bytes)
{
	const struct piece piece = { place, whole_pieces(bytes) };

	if (!piece.bytes)
		return;
	array_push(m->dropped.list, m->dropped.n, m->dropped.capacity, piece);
	m->used -= piece.bytes;
}

uint64_t unwind_memory_most(const struct unwind_memory *m)
{
	return m->max_slabs * (uint64_t)SLAB_BYTES;
}

uint64_t unwind_memory_used(const struct unwind_memory *m)
{
	return m->used;
}

uint64_t unwind_memory_held(const struct unwind_memory *m)
{
	return m->n_slabs * (uint64_t)SLAB_BYTES;
}
