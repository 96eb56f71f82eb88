#include "store/store.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "store/tree.h"

#define BATCH 4096

/* Pieces of stacks that the tree does not have yet. */
struct pieces {
	struct stack_chunk *chunks;
	size_t n, capacity;
	struct u64_map places; /* by piece_key() */
};

/* A row as it came from the kernel. */
struct raw_row {
	struct stack_key key;
	uint64_t count;
};

struct store {
	const struct object *object;
	struct store_budget budget;
	uint32_t n_cpus;
	unsigned generation;

	/*
	 * What was emptied out of the kernel and is not worked in yet: emptying must keep up with
	 * the programs, the rest can wait.
	 */
	struct pieces pieces;
	struct raw_row *raw;
	size_t n_raw, cap_raw;
	size_t n_settled; /* rows of these that are worked in */

	struct tree tree;
	struct u64_map known; /* the kernel's hash of a stack -> its number in the tree */

	struct store_row *rows;
	size_t n_rows, cap_rows;
	uint32_t *index; /* row number + 1 by key; open addressing */
	size_t n_index;

	uint64_t losses[LOSS_N];
	uint64_t kernel_now[LOST_IN_KERNEL]; /* since the programs were loaded, when last asked */
	uint64_t kernel_before[LOST_IN_KERNEL]; /* up to the last store_clear() */
	uint64_t recursion_now, recursion_before;
};

const char *loss_text(enum loss loss)
{
	static const char *const texts[LOSS_N] = {
		[LOSS_NO_SCRATCH] = "nested too deep on one CPU",
		[LOSS_STACKS_FULL] = "no room in the kernel for a new stack (see --max-memory)",
		[LOSS_COUNTS_FULL] = "no room in the kernel for a new row (see --max-memory)",
		[LOSS_NO_MEMORY] = "the kernel had no memory at hand",
		[LOSS_NOT_FOLLOWED] = "new tasks of the command that could not be followed",
		[LOSS_BUDGET] = "new stacks beyond --max-memory",
		[LOSS_RECURSION] = "another BPF program was running on the CPU",
		[LOSS_MISSED] = "missed by the kernel at the probe",
	};

	return texts[loss];
}

/*
 * Costs in the kernel. An element of a hash map is 48 bytes + key + value (+ 8 while it is free),
 * from slabs of 96, 128, 192, 256, 512 or 1024 bytes. A stack takes one or two pieces on each side.
 * A map's buckets (16 bytes for each entry it may have) are there from the start, so
 * their number is bounded: start-up pays for them.
 */
#define ELEMENT_BYTES (48 + 8)
#define CHUNK_BYTES 256ULL
#define BUCKET_BYTES 16ULL
#define CHUNKS_PER_ROW 2ULL
#define MOST_ROWS 65536
#define FEWEST_ROWS 64

static uint64_t slab_bytes(uint64_t bytes)
{
	uint64_t slab = 128;

	while (slab < bytes)
		slab *= 2;
	return slab;
}

void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret)
{
	ret->n_lanes = 1;
	while (ret->n_lanes < n_cpus && ret->n_lanes < MAX_LANES)
		ret->n_lanes *= 2;

	uint64_t row = slab_bytes(ELEMENT_BYTES + sizeof(struct stack_key) +
				  sizeof(uint64_t) * ROW_WORDS(ret->n_lanes)) +
		       CHUNKS_PER_ROW * CHUNK_BYTES + (1 + CHUNKS_PER_ROW) * BUCKET_BYTES;
	uint64_t rows = max_bytes / 2 / 2 / row; /* half of it all, in two generations */

	if (rows > MOST_ROWS)
		rows = MOST_ROWS;
	if (rows < FEWEST_ROWS)
		rows = FEWEST_ROWS;
	ret->max_rows = (uint32_t)rows;
	ret->max_chunks = (uint32_t)(CHUNKS_PER_ROW * rows);

	uint64_t kernel = 2 * rows * row;

	ret->user_bytes = max_bytes > kernel ? max_bytes - kernel : 0;
}

struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->object = object;
	s->budget = *budget;
	s->n_cpus = n_cpus;
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	free(s->pieces.chunks);
	u64_map_fini(&s->pieces.places);
	free(s->raw);
	tree_fini(&s->tree);
	u64_map_fini(&s->known);
	free(s->rows);
	free(s->index);
	free(s);
}

void store_freep(struct store **s)
{
	store_free(*s);
	*s = NULL;
}

static size_t pending_bytes(const struct store *s)
{
	return s->pieces.capacity * sizeof(*s->pieces.chunks) +
	       s->pieces.places.n_slots * sizeof(*s->pieces.places.slots) +
	       s->cap_raw * sizeof(*s->raw);
}

static size_t settled_bytes(const struct store *s)
{
	return tree_bytes(&s->tree) + s->known.n_slots * sizeof(*s->known.slots) +
	       s->cap_rows * sizeof(*s->rows) + s->n_index * sizeof(*s->index);
}

size_t store_bytes(const struct store *s)
{
	return pending_bytes(s) + settled_bytes(s);
}

/* --- rows --- */

static uint64_t row_hash(const struct store_row *row)
{
	uint64_t stacks = (uint64_t)row->kernel_stack << 32 | row->user_stack;

	return hash_mix(stacks ^ hash_mix((uint64_t)row->tgid << 32 | row->flags));
}

static bool is_same_row(const struct store_row *a, const struct store_row *b)
{
	return a->kernel_stack == b->kernel_stack && a->user_stack == b->user_stack &&
	       a->tgid == b->tgid && a->flags == b->flags;
}

static uint32_t *index_slot(struct store *s, const struct store_row *row)
{
	size_t i = row_hash(row) & (s->n_index - 1);

	while (s->index[i] && !is_same_row(&s->rows[s->index[i] - 1], row))
		i = (i + 1) & (s->n_index - 1);
	return &s->index[i];
}

static void grow_index(struct store *s)
{
	free(s->index);
	s->n_index = s->n_index ? s->n_index * 2 : 1024;
	s->index = xcalloc(s->n_index, sizeof(*s->index));
	for (size_t i = 0; i < s->n_rows; i++)
		*index_slot(s, &s->rows[i]) = i + 1;
}

/* False when the row would be new and there is no room. */
static bool add_row(struct store *s, const struct store_row *row)
{
	if (s->n_rows * 2 >= s->n_index)
		grow_index(s);

	uint32_t *slot = index_slot(s, row);

	if (*slot) {
		s->rows[*slot - 1].count += row->count;
		return true;
	}
	if (settled_bytes(s) > s->budget.user_bytes)
		return false;
	array_push(s->rows, s->n_rows, s->cap_rows, *row);
	*slot = s->n_rows;
	return true;
}

/* --- emptying a generation --- */

static uint64_t piece_key(uint64_t stack, uint64_t index)
{
	return stack ^ hash_mix(index);
}

/* What is done with a batch's keys and values. */
typedef void take_batch(struct store *s, const void *keys, const void *values, size_t n);

static void take_pieces(struct store *s, const void *keys, const void *values, size_t n)
{
	struct pieces *pieces = &s->pieces;
	const struct chunk_key *key = keys;
	const struct stack_chunk *chunk = values;

	for (size_t i = 0; i < n; i++) {
		if (u64_map_get(&s->known, key[i].stack))
			continue;
		(void)u64_map_put(&pieces->places, piece_key(key[i].stack, key[i].index), pieces->n,
				  NULL);
		array_push(pieces->chunks, pieces->n, pieces->capacity, chunk[i]);
	}
}

/* Put a stack together from its pieces; returns its words, 0 when a piece is missing. */
static size_t assemble(const struct pieces *pieces, uint64_t hash, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++) {
		const uint32_t *place = u64_map_get(&pieces->places, piece_key(hash, i));

		if (!place)
			return n == i * CHUNK_WORDS ? n : 0;
		for (size_t w = 0; w < CHUNK_WORDS; w++, n++) {
			words[n] = pieces->chunks[*place].words[w];
			if (!words[n])
				return n;
		}
	}
	return n;
}

/* The number of the stack with the kernel's hash @hash; false when there is no room for it. */
static bool find_stack(struct store *s, const struct pieces *pieces, uint64_t hash, uint32_t *ret)
{
	uint64_t words[STACK_WORDS];

	*ret = TREE_ROOT;
	if (!hash)
		return true;

	const uint32_t *known = u64_map_get(&s->known, hash);

	if (known) {
		*ret = *known;
		return true;
	}
	if (settled_bytes(s) > s->budget.user_bytes)
		return false;
	*ret = tree_add(&s->tree, words, assemble(pieces, hash, words));
	(void)u64_map_put(&s->known, hash, *ret, NULL);
	return true;
}

static void take_rows(struct store *s, const void *keys, const void *values, size_t n)
{
	const struct stack_key *key = keys;
	const uint64_t *counts = values;

	for (size_t i = 0; i < n; i++, counts += ROW_WORDS(s->budget.n_lanes)) {
		struct raw_row row = { .key = key[i] };

		for (uint32_t lane = 1; lane <= s->budget.n_lanes; lane++)
			row.count += counts[(size_t)LANE_WORDS * lane];
		array_push(s->raw, s->n_raw, s->cap_raw, row);
	}
}

/* Must the maps be emptied before anything else? */
static bool is_pressed(const struct store *s)
{
	const struct trace_state *state = object_state(s->object);

	return state->n_rows[s->generation] > s->budget.max_rows / 8;
}

/* Work in what was emptied out of the kernel; unless @is_forced, only while there is time. */
static void settle(struct store *s, bool is_forced)
{
	for (; s->n_settled < s->n_raw; s->n_settled++) {
		const struct stack_key *key = &s->raw[s->n_settled].key;
		struct store_row row = { .count = s->raw[s->n_settled].count,
					 .tgid = key->tgid,
					 .flags = key->flags };

		if (!is_forced && s->n_settled % 1024 == 0 && is_pressed(s))
			return;
		if (!find_stack(s, &s->pieces, key->kernel_stack, &row.kernel_stack) ||
		    !find_stack(s, &s->pieces, key->user_stack, &row.user_stack) ||
		    !add_row(s, &row))
			s->losses[LOSS_BUDGET] += row.count;
	}
	s->n_raw = 0;
	s->n_settled = 0;
	s->pieces.n = 0;
	u64_map_clear(&s->pieces.places);
}

/* The buffers are given back between bursts: what is held idle counts as ours, too. */
static void settle_all(struct store *s)
{
	settle(s, true);
	free(s->pieces.chunks);
	u64_map_fini(&s->pieces.places);
	free(s->raw);
	s->pieces = (struct pieces){};
	s->raw = NULL;
	s->cap_raw = 0;
}

/* Room for one batch of a map's elements. */
struct batch {
	size_t key_size, value_size;
	uint32_t size; /* elements */
	void *keys;
	void *values;
};

static void batch_resize(struct batch *b, uint32_t size)
{
	b->size = size;
	b->keys = xreallocarray(b->keys, size, b->key_size);
	b->values = xreallocarray(b->values, size, b->value_size);
}

static void batch_fini(struct batch *b)
{
	free(b->keys);
	free(b->values);
}

/* Read and delete everything in a map that no program uses any more. */
static int empty_map(struct store *s, int fd, struct batch *b, take_batch *take, struct error *e)
{
	uint64_t cursor[2] = {}; /* the kernel's; room for more than it needs */
	bool is_first = true;

	batch_resize(b, BATCH);
	for (;;) {
		uint32_t n = b->size;
		int err = bpf_map_lookup_and_delete_batch(fd, is_first ? NULL : cursor, cursor,
							  b->keys, b->values, &n, NULL);

		if (err && errno == ENOSPC) { /* one bucket holds more than this */
			batch_resize(b, 2 * b->size);
			continue;
		}
		if (err && errno != ENOENT)
			return error_errno(e, "read the counts");
		take(s, b->keys, b->values, n);
		if (err)
			return 0;
		is_first = false;
	}
}

static int empty_generation(struct store *s, unsigned g, struct error *e)
{
	struct trace_state *state = object_state(s->object);

	cleanup(batch_fini) struct batch chunks = { .key_size = sizeof(struct chunk_key),
						    .value_size = sizeof(struct stack_chunk) };
	cleanup(batch_fini) struct batch rows = { .key_size = sizeof(struct stack_key),
						  .value_size = ROW_WORDS(s->budget.n_lanes) *
								sizeof(uint64_t) };
	int err = empty_map(s, object_stacks_fd(s->object, g), &chunks, take_pieces, e);

	if (!err)
		err = empty_map(s, object_counts_fd(s->object, g), &rows, take_rows, e);
	if (err)
		return err;

	state->n_rows[g] = 0;
	state->n_chunks[g] = 0;
	__atomic_store_n(&state->is_noticed[g], 0, __ATOMIC_RELEASE);
	if (pending_bytes(s) > s->budget.user_bytes / 2)
		settle(s, pending_bytes(s) > s->budget.user_bytes);
	return 0;
}

static void set_generation(struct store *s, uint32_t generation)
{
	__atomic_store_n(&object_state(s->object)->generation, generation, __ATOMIC_RELEASE);
}

void store_start(struct store *s)
{
	s->generation = 0;
	set_generation(s, 0);
}

int store_rotate(struct store *s, struct error *e)
{
	unsigned old = s->generation;

	s->generation = !old;
	set_generation(s, s->generation);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : empty_generation(s, old, e);
}

int store_stop(struct store *s, struct error *e)
{
	set_generation(s, GENERATION_OFF);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : empty_generation(s, s->generation, e);
}

const struct store_row *store_rows(struct store *s, size_t *n)
{
	settle_all(s);
	*n = s->n_rows;
	return s->rows;
}

size_t store_stack(const struct store *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return tree_words(&s->tree, number, words, STACK_WORDS);
}

/* --- losses --- */

static void read_kernel_losses(const struct store *s, uint64_t sums[LOST_IN_KERNEL])
{
	cleanup_free uint64_t *values = xcalloc(s->n_cpus, sizeof(*values));

	for (__u32 reason = 0; reason < LOST_IN_KERNEL; reason++) {
		sums[reason] = 0;
		if (bpf_map_lookup_elem(object_lost_fd(s->object), &reason, values))
			continue;
		for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++)
			sums[reason] += values[cpu];
	}
}

_Static_assert((int)LOSS_NO_SCRATCH == (int)LOST_NO_SCRATCH,
	       "enum loss begins as enum lost_reason");
_Static_assert((int)LOSS_BUDGET == (int)LOST_IN_KERNEL, "enum loss begins as enum lost_reason");

void store_losses(struct store *s, uint64_t losses[LOSS_N])
{
	memcpy(losses, s->losses, sizeof(s->losses));
	read_kernel_losses(s, s->kernel_now);
	for (size_t i = 0; i < LOST_IN_KERNEL; i++)
		losses[i] = s->kernel_now[i] - s->kernel_before[i];
	s->recursion_now = object_recursion_misses(s->object);
	losses[LOSS_RECURSION] = s->recursion_now - s->recursion_before;
}

/* What store_losses() gave counts as told; what came since is told the next time. */
void store_clear(struct store *s)
{
	s->n_rows = 0;
	if (s->index)
		memset(s->index, 0, s->n_index * sizeof(*s->index));
	memset(s->losses, 0, sizeof(s->losses));
	memcpy(s->kernel_before, s->kernel_now, sizeof(s->kernel_now));
	s->recursion_before = s->recursion_now;
}
