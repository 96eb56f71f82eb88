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

/* A row as it came from the kernel. */
struct raw_row {
	struct stack_key key;
	uint64_t count;
};

struct store {
	const struct object *object;
	struct store_budget budget;
	uint32_t n_cpus;
	uint32_t turn;     /* as in struct trace_state; never TURN_OFF */
	unsigned emptying; /* the generation that take_rows() is given */

	/* Emptied out of the kernel and not worked in yet: that can wait, emptying cannot. */
	struct raw_row *raw;
	size_t n_raw, cap_raw;
	size_t n_settled; /* rows of these that are worked in */

	struct tree tree;
	struct u64_map known; /* the kernel's hash of a stack -> its number in the tree */

	struct store_row *rows;
	size_t n_rows, cap_rows;
	uint32_t *index; /* row number + 1 by key; open addressing */
	size_t n_index;

	struct losses losses;
};

/*
 * Costs in the kernel. An element of a hash map is 48 bytes + key + value, and 8 more while it is
 * free; it comes from slabs of 96, 128, 192 bytes and more. A map has a bucket of 16 bytes for
 * each entry that it may have. A stack takes one or two pieces; of the two stacks of a row
 * one is rarely new.
 */
#define ROW_BYTES 96ULL
#define CHUNK_BYTES 192ULL
#define BUCKET_BYTES 16ULL
#define CHUNKS_PER_ROW 2ULL
#define FEWEST_ROWS 64
#define MOST_HOT_ROWS 1024

_Static_assert(48 + sizeof(struct stack_key) + sizeof(struct stack_row) + 8 <= ROW_BYTES, "slab");
_Static_assert(48 + sizeof(uint64_t) + sizeof(struct stack_chunk) + 8 <= CHUNK_BYTES, "slab");

/* With @rows rows in each generation. */
static uint64_t kernel_bytes(uint64_t rows)
{
	return 2 * rows * (ROW_BYTES + BUCKET_BYTES) +
	       CHUNKS_PER_ROW * rows * (CHUNK_BYTES + BUCKET_BYTES);
}

void store_divide(uint64_t max_bytes, uint32_t n_cpus, struct store_budget *ret)
{
	const uint64_t row_of_counters = 2 * sizeof(uint64_t) * n_cpus;
	uint64_t rows = FEWEST_ROWS, hot = 1;

	while (rows < 1U << 30 && kernel_bytes(2 * rows) <= max_bytes / 8 * 5)
		rows *= 2;
	while (hot < MOST_HOT_ROWS && 2 * hot * row_of_counters <= max_bytes / 32)
		hot *= 2;

	uint64_t kernel = kernel_bytes(rows) + hot * row_of_counters;

	ret->max_rows = (uint32_t)rows;
	ret->n_hot_rows = (uint32_t)hot;
	ret->max_chunks = (uint32_t)(CHUNKS_PER_ROW * rows);
	ret->user_bytes = max_bytes > kernel ? max_bytes - kernel : 0;
}

struct store *store_new(const struct object *object, const struct store_budget *budget,
			uint32_t n_cpus)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->object = object;
	s->budget = *budget;
	s->n_cpus = n_cpus;
	s->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
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
	return s->cap_raw * sizeof(*s->raw);
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

/* --- stacks --- */

/* Read piece @key of a stack; false where the kernel does not have it. */
static bool read_chunk(const struct store *s, uint64_t key, uint64_t words[CHUNK_WORDS])
{
	for (unsigned level = 0; level < LEVELS; level++) {
		int fd = object_stacks_fd(s->object, level);

		if (fd >= 0 && bpf_map_lookup_elem(fd, &key, words) == 0)
			return true;
	}
	return false;
}

/* The words of the stack with the kernel's hash @hash; returns how many. */
static size_t read_stack(const struct store *s, uint64_t hash, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++) {
		if (!read_chunk(s, hash | i, words + n))
			break;
		for (size_t w = 0; w < CHUNK_WORDS; w++, n++)
			if (!words[n])
				return n;
	}
	return n;
}

/* The number of the stack with the kernel's hash @hash; false when there is no room for it. */
static bool find_stack(struct store *s, uint64_t hash, uint32_t *ret)
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
	*ret = tree_add(&s->tree, words, read_stack(s, hash, words));
	(void)u64_map_put(&s->known, hash, *ret, NULL);
	return true;
}

static void add_to_chunks(const struct store *s, int64_t n)
{
	(void)__atomic_fetch_add(&object_state(s->object)->n_chunks, (uint64_t)n, __ATOMIC_RELAXED);
}

/* In one call, which stops at one that is not there; only we delete. */
static void delete_chunks(const struct store *s, int fd, const uint64_t *keys, uint32_t n)
{
	if (n && fd >= 0 && (!bpf_map_delete_batch(fd, keys, &n, NULL) || errno == ENOENT))
		add_to_chunks(s, -(int64_t)n);
}

/* There is no room for this stack here; let it not take the kernel's, either. */
static void drop_stack(const struct store *s, uint64_t hash)
{
	if (!hash || u64_map_get(&s->known, hash))
		return;
	for (uint64_t key = hash; key < hash + CHUNKS_PER_STACK; key++)
		for (unsigned level = 0; level < LEVELS; level++)
			delete_chunks(s, object_stacks_fd(s->object, level), &key, 1);
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

/* What is done with a batch's @n keys and values out of map @fd. */
typedef void take_batch(struct store *s, int fd, struct batch *b, uint32_t n);

typedef int read_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *n,
		       const struct bpf_map_batch_opts *opts);

/* Go through a map with @read, which may delete what it reads. */
static int each_batch(struct store *s, int fd, read_batch *read, struct batch *b, take_batch *take,
		      struct error *e)
{
	uint64_t cursor[2] = {}; /* the kernel's; room for more than it needs */
	bool is_first = true;

	if (fd < 0)
		return 0;
	batch_resize(b, BATCH);
	for (;;) {
		uint32_t n = b->size;
		int err = read(fd, is_first ? NULL : cursor, cursor, b->keys, b->values, &n, NULL);

		if (err && errno == ENOSPC) { /* one bucket holds more than this */
			batch_resize(b, 2 * b->size);
			continue;
		}
		if (err && errno != ENOENT)
			return error_errno(e, "read the counts");
		take(s, fd, b, n);
		if (err)
			return 0;
		is_first = false;
	}
}

/* Delete those that are known here. */
static void forget_batch(struct store *s, int fd, struct batch *b, uint32_t n)
{
	uint64_t *keys = b->keys;
	uint32_t n_known = 0;

	for (uint32_t i = 0; i < n; i++)
		if (u64_map_get(&s->known, keys[i] & ~CHUNK_NUMBERS))
			keys[n_known++] = keys[i];
	delete_chunks(s, fd, keys, n_known);
}

static bool is_full_of_stacks(const struct store *s)
{
	return __atomic_load_n(&object_state(s->object)->n_chunks, __ATOMIC_RELAXED) >=
	       s->budget.max_chunks / 2;
}

/*
 * Make room for new stacks in the kernel. A row may refer to a stack that is
 * deleted at that moment: it is known here.
 */
static int forget_stacks(struct store *s, struct error *e)
{
	cleanup(batch_fini) struct batch b = { .key_size = sizeof(uint64_t),
					       .value_size = sizeof(struct stack_chunk) };
	int err = 0;

	for (unsigned level = 0; level < LEVELS && !err; level++)
		err = each_batch(s, object_stacks_fd(s->object, level), bpf_map_lookup_batch, &b,
				 forget_batch, e);
	return err;
}

/* --- emptying a generation --- */

/* A row's counters on each CPU. */
static uint64_t hot_count(const struct store *s, unsigned g, uint32_t hot)
{
	const uint64_t *counters = object_hot(s->object);
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < s->n_cpus && hot; cpu++)
		sum += counters[hot_index(cpu, g, hot, s->budget.n_hot_rows)];
	return sum;
}

static void take_rows(struct store *s, int fd, struct batch *b, uint32_t n)
{
	const struct stack_key *keys = b->keys;
	const struct stack_row *rows = b->values;
	const unsigned g = s->emptying;

	(void)fd;
	for (uint32_t i = 0; i < n; i++) {
		struct raw_row row = { keys[i], rows[i].count + hot_count(s, g, rows[i].hot) };

		array_push(s->raw, s->n_raw, s->cap_raw, row);
	}
}

static void clear_counters(const struct store *s, unsigned g)
{
	struct trace_state *state = object_state(s->object);
	uint64_t asked = state->n_hot[g];
	uint32_t n = asked < s->budget.n_hot_rows ? asked : s->budget.n_hot_rows;
	uint64_t *counters = object_hot(s->object);

	for (uint32_t cpu = 0; cpu < s->n_cpus && n; cpu++)
		memset(&counters[hot_index(cpu, g, 1, s->budget.n_hot_rows)], 0,
		       n * sizeof(*counters));
	state->n_hot[g] = 0;
}

static int empty_generation(struct store *s, unsigned g, struct error *e)
{
	cleanup(batch_fini) struct batch rows = { .key_size = sizeof(struct stack_key),
						  .value_size = sizeof(struct stack_row) };
	int err = 0;

	s->emptying = g;
	for (unsigned level = 0; level < LEVELS && !err; level++)
		err = each_batch(s, object_counts_fd(s->object, g, level),
				 bpf_map_lookup_and_delete_batch, &rows, take_rows, e);
	clear_counters(s, g);
	object_state(s->object)->n_rows[g] = 0;
	return err;
}

static void set_turn(struct store *s, uint32_t turn)
{
	__atomic_store_n(&object_state(s->object)->turn, turn, __ATOMIC_RELEASE);
}

void store_start(struct store *s)
{
	s->turn = FIRST_TURN;
	set_turn(s, s->turn);
}

/* Turn to the other generation, and empty the old one. */
static int turn(struct store *s, struct error *e)
{
	unsigned old = s->turn % 2;

	set_turn(s, ++s->turn);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : empty_generation(s, old, e);
}

/* --- working in --- */

static void settle_row(struct store *s, const struct raw_row *raw)
{
	struct store_row row = { .count = raw->count,
				 .tgid = raw->key.tgid,
				 .flags = raw->key.flags };

	if (find_stack(s, raw->key.kernel_stack, &row.kernel_stack) &&
	    find_stack(s, raw->key.user_stack, &row.user_stack) && add_row(s, &row))
		return;
	s->losses.n_over_budget += row.count;
	drop_stack(s, raw->key.kernel_stack);
	drop_stack(s, raw->key.user_stack);
}

static bool is_pressed(const struct store *s)
{
	const struct trace_state *state = object_state(s->object);

	return __atomic_load_n(&state->n_rows[s->turn % 2], __ATOMIC_RELAXED) >
	       s->budget.max_rows / 2;
}

/* Work in what was emptied out of the kernel; @is_counting: and empty more when that must be. */
static int settle(struct store *s, bool is_counting, struct error *e)
{
	int err = 0;

	for (; s->n_settled < s->n_raw && !err; s->n_settled++) {
		settle_row(s, &s->raw[s->n_settled]);
		if (is_counting && s->n_settled % 1024 == 0 && is_pressed(s))
			err = turn(s, e);
	}
	s->n_raw = 0;
	s->n_settled = 0;
	return err;
}

int store_rotate(struct store *s, struct error *e)
{
	int err = turn(s, e);

	if (!err && (is_full_of_stacks(s) || pending_bytes(s) > s->budget.user_bytes / 2))
		err = settle(s, true, e);
	if (!err && is_full_of_stacks(s))
		err = forget_stacks(s, e);
	__atomic_store_n(&object_state(s->object)->is_noticed, 0, __ATOMIC_RELEASE);
	return err;
}

int store_stop(struct store *s, struct error *e)
{
	set_turn(s, TURN_OFF);

	int err = object_wait_for_programs(s->object, e);

	return err ? err : empty_generation(s, s->turn % 2, e);
}

const struct store_row *store_rows(struct store *s, size_t *n)
{
	struct error none;

	(void)settle(s, false, &none); /* only counting can fail */
	free(s->raw);                  /* what is held idle counts as ours, too */
	s->raw = NULL;
	s->cap_raw = 0;
	*n = s->n_rows;
	return s->rows;
}

size_t store_stack(const struct store *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return tree_words(&s->tree, number, words, STACK_WORDS);
}

struct losses *store_losses(struct store *s)
{
	return &s->losses;
}

void store_clear(struct store *s)
{
	s->n_rows = 0;
	if (s->index)
		memset(s->index, 0, s->n_index * sizeof(*s->index));
	losses_told(&s->losses);
}
