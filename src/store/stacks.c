// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/stacks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

#define NO_STACK 0 /* the number of the empty one */

/* --- reading a map in batches --- */

/* No bucket has so many: maps have as many buckets as elements. */
#define BATCH 4096

static void empty_batch(struct batch **b)
{
	cleanup_free_p(&(*b)->keys);
	cleanup_free_p(&(*b)->values);
}

int batch_each(struct batch *b, int fd, struct error *e)
{
	__typeof__(bpf_map_lookup_batch) *read_batch =
		b->deletes ? bpf_map_lookup_and_delete_batch : bpf_map_lookup_batch;
	uint64_t cursor[2] = {}; /* only the kernel reads it; it writes at most 16 bytes */
	bool is_first = true;

	if (fd < 0)
		return 0;

	cleanup(empty_batch) struct batch *emptied = b;

	b->fd = fd;
	b->keys = xreallocarray(NULL, BATCH, b->key_size);
	b->values = xreallocarray(NULL, BATCH, b->value_size);
	for (;;) {
		uint32_t n = BATCH;
		int err = read_batch(fd, is_first ? NULL : cursor, cursor, b->keys, b->values, &n,
				     NULL);

		if (err && errno != ENOENT)
			return error_errno(e, "read the counts");
		if (!b->take(b, n) || err)
			return 0;
		is_first = false;
	}
}

/* --- sets of stacks --- */

static void stack_set_fini(struct stack_set *set)
{
	free(set->nodes);
	free(set->slots);
	u64_map_fini(&set->known);
	*set = (struct stack_set){};
}

static size_t stack_set_bytes(const struct stack_set *set)
{
	return set->capacity * sizeof(*set->nodes) + set->n_slots * sizeof(*set->slots) +
	       set->known.n_slots * sizeof(*set->known.slots);
}

static uint32_t *node_slot(const struct stack_set *set, uint32_t parent, uint64_t word)
{
	size_t i = hash_mix(word ^ hash_mix(parent)) & (set->n_slots - 1);

	while (set->slots[i]) {
		const struct stack_node *node = &set->nodes[set->slots[i]];

		if (node->parent == parent && node->word == word)
			break;
		i = (i + 1) & (set->n_slots - 1);
	}
	return &set->slots[i];
}

static void grow_node_slots(struct stack_set *set)
{
	free(set->slots);
	set->n_slots = set->n_slots ? set->n_slots * 2 : 1024;
	set->slots = xcalloc(set->n_slots, sizeof(*set->slots));
	for (uint32_t i = 1; i < set->n; i++)
		*node_slot(set, set->nodes[i].parent, set->nodes[i].word) = i;
}

/* Returns the number of the stack of @n words, innermost first. Adds it if it is new. */
static uint32_t add_path(struct stack_set *set, const uint64_t *words, size_t n)
{
	uint32_t at = NO_STACK;

	if (!set->n)
		array_push(set->nodes, set->n, set->capacity, (struct stack_node){});
	while (n-- > 0) {
		if (set->n * 2 >= set->n_slots)
			grow_node_slots(set);

		uint32_t *slot = node_slot(set, at, words[n]);

		if (!*slot) {
			const struct stack_node node = { .word = words[n], .parent = at };

			*slot = (uint32_t)set->n;
			array_push(set->nodes, set->n, set->capacity, node);
		}
		at = *slot;
	}
	return at;
}

static size_t path_words(const struct stack_set *set, uint32_t number, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	for (; number != NO_STACK && n < STACK_WORDS; number = set->nodes[number].parent)
		words[n++] = set->nodes[number].word;
	return n;
}

static uint32_t number_in(const struct stack_set *set, uint64_t hash)
{
	const uint32_t *number = u64_map_get(&set->known, hash);

	return number ? *number : NO_STACK;
}

/* Add a stack to the known ones. Returns its number. */
static uint32_t keep_stack(struct stacks *s, uint64_t hash, const uint64_t *words, size_t n)
{
	const uint32_t number = add_path(&s->now, words, n);

	*u64_map_put(&s->now.known, hash, number, NULL) = number;
	return number;
}

void stacks_fini(struct stacks *s)
{
	stack_set_fini(&s->now);
	stack_set_fini(&s->old);
}

size_t stacks_bytes(const struct stacks *s)
{
	return stack_set_bytes(&s->now) + stack_set_bytes(&s->old);
}

bool stacks_is_over(const struct stacks *s)
{
	return s->is_over && s->is_over(s->context);
}

bool stacks_has(const struct stacks *s, uint64_t hash)
{
	return number_in(&s->now, hash) || number_in(&s->old, hash);
}

bool stacks_is_new(const struct stacks *s, uint64_t hash)
{
	return hash && !IS_LATE_STACK(hash) && !stacks_has(s, hash);
}

uint32_t stacks_add(struct stacks *s, const uint64_t *words, size_t n)
{
	return add_path(&s->now, words, n);
}

void stacks_keep(struct stacks *s, uint64_t hash, const uint64_t *words, size_t n)
{
	if (!number_in(&s->now, hash))
		(void)keep_stack(s, hash, words, n);
}

size_t stacks_words(const struct stacks *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return path_words(&s->now, number, words);
}

bool stacks_has_old(const struct stacks *s)
{
	return s->old.known.n_slots;
}

uint32_t stacks_renew(struct stacks *s, uint32_t number)
{
	uint64_t words[STACK_WORDS];

	return add_path(&s->now, words, path_words(&s->old, number, words));
}

void stacks_drop_old(struct stacks *s)
{
	stack_set_fini(&s->old);
}

/* --- pieces in the kernel --- */

/* Pass the pieces in the maps from @level on to @take. */
static int each_chunk(const struct stacks *s, unsigned level, batch_take *take, void *context,
		      struct error *e)
{
	struct batch b = { .key_size = sizeof(uint64_t),
			   .value_size = sizeof(struct stack_chunk),
			   .take = take,
			   .context = context };
	int err = 0;

	for (; level < STACK_LEVELS && !err; level++)
		err = batch_each(&b, object_stacks_fd(s->object, level), e);
	return err;
}

/* Read piece @key of a stack. False if the kernel does not have it. */
static bool read_chunk(const struct stacks *s, uint64_t key, uint64_t words[CHUNK_WORDS])
{
	for (unsigned level = 0; level < STACK_LEVELS; level++) {
		int fd = object_stacks_fd(s->object, level);

		if (fd >= 0 && bpf_map_lookup_elem(fd, &key, words) == 0)
			return true;
	}
	return false;
}

/*
 * The system call stops at a key that the map does not have. No other process deletes pieces, so
 * that happens only in drop_chunk(). Returns how many pieces it deleted.
 */
static uint32_t delete_chunks(const struct stacks *s, int fd, const uint64_t *keys, uint32_t n)
{
	struct trace_state *state = object_state(s->object);

	if (!n || fd < 0 || (bpf_map_delete_batch(fd, keys, &n, NULL) && errno != ENOENT))
		return 0;
	(void)__atomic_fetch_sub(&state->n_chunks, n, __ATOMIC_RELAXED);
	if (fd == object_stacks_fd(s->object, SPARE_LEVEL))
		(void)__atomic_fetch_sub(&state->n_spare, n, __ATOMIC_RELAXED);
	return n;
}

static bool drop_chunk(const struct stacks *s, uint64_t key)
{
	uint32_t n = 0;

	for (unsigned level = 0; level < STACK_LEVELS; level++)
		n += delete_chunks(s, object_stacks_fd(s->object, level), &key, 1);
	return n > 0;
}

void stacks_drop(const struct stacks *s, uint64_t hash)
{
	if (!stacks_is_new(s, hash))
		return;
	for (uint64_t key = hash; key < hash + CHUNKS_PER_STACK && drop_chunk(s, key); key++)
		;
}

/*
 * Read the words of a stack from word @n up to its end, and move @n there. False if a piece is
 * missing.
 */
static bool read_known_stack(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS],
			     size_t *n)
{
	while (*n < STACK_WORDS) {
		if (!read_chunk(s, hash | *n / CHUNK_WORDS, words + *n))
			return false;
		for (size_t w = 0; w < CHUNK_WORDS; w++, ++*n)
			if (!words[*n])
				return true;
	}
	return true;
}

/*
 * User space deletes pieces one by one, while a program may store the same stack again. So the map
 * may keep the last piece without an earlier one. Then we delete all pieces, so that the next hit
 * stores the whole stack.
 */
size_t stacks_read(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	if (read_known_stack(s, hash, words, &n))
		return n;
	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++)
		(void)drop_chunk(s, hash | i);
	words[n] = STACK_MARK_TORN;
	return n + 1;
}

bool stacks_find(struct stacks *s, uint64_t hash, bool has_room, uint32_t *ret)
{
	uint64_t words[STACK_WORDS];
	uint32_t old;
	size_t n;

	*ret = hash ? number_in(&s->now, hash) : NO_STACK;
	if (!hash || *ret)
		return true;
	old = number_in(&s->old, hash);
	if (!old && (!has_room || IS_LATE_STACK(hash)))
		return false;
	n = old ? path_words(&s->old, old, words) : stacks_read(s, hash, words);
	*ret = keep_stack(s, hash, words, n);
	return true;
}

/* --- many at once --- */

struct reading {
	struct stacks *stacks;
	size_t most_bytes;
	bool may_end;
};

/* Leave an incomplete stack to stacks_find(): a program may be about to store its last pieces. */
static void keep_whole(struct stacks *s, uint64_t hash, const struct stack_chunk *first)
{
	uint64_t words[STACK_WORDS];
	size_t n = 0;

	while (n < CHUNK_WORDS && first->words[n]) {
		words[n] = first->words[n];
		n++;
	}
	if (n < CHUNK_WORDS || read_known_stack(s, hash, words, &n))
		(void)keep_stack(s, hash, words, n);
}

static bool keep_each_chunk(struct batch *b, uint32_t n)
{
	const struct reading *r = b->context;
	const uint64_t *keys = b->keys;
	const struct stack_chunk *chunks = b->values;

	for (uint32_t i = 0; i < n && stacks_bytes(r->stacks) <= r->most_bytes; i++)
		if (!(keys[i] & CHUNK_NUMBERS) && !number_in(&r->stacks->now, keys[i]))
			keep_whole(r->stacks, keys[i], &chunks[i]);
	return stacks_bytes(r->stacks) <= r->most_bytes &&
	       !(r->may_end && stacks_is_over(r->stacks));
}

int stacks_copy(struct stacks *s, size_t most_bytes, bool may_end, struct error *e)
{
	struct reading r = { s, most_bytes, may_end };

	return each_chunk(s, 0, keep_each_chunk, &r, e);
}

bool stacks_are_many(const struct stacks *s)
{
	return __atomic_load_n(&object_state(s->object)->n_chunks, __ATOMIC_RELAXED) >=
	       s->max_chunks / 2;
}

bool stacks_must_forget(const struct stacks *s)
{
	const uint64_t n_spare =
		__atomic_load_n(&object_state(s->object)->n_spare, __ATOMIC_RELAXED);

	return stacks_are_many(s) || n_spare >= SPARE_TO_NOTICE;
}

/* Delete the pieces of known stacks. */
static bool forget_known(struct batch *b, uint32_t n)
{
	const struct stacks *s = b->context;
	uint64_t *keys = b->keys;
	uint32_t n_known = 0;

	for (uint32_t i = 0; i < n; i++)
		if (number_in(&s->now, keys[i] & ~CHUNK_NUMBERS))
			keys[n_known++] = keys[i];
	(void)delete_chunks(s, b->fd, keys, n_known);
	return !stacks_is_over(s);
}

int stacks_forget(struct stacks *s, struct error *e)
{
	return each_chunk(s, stacks_are_many(s) ? 0 : SPARE_LEVEL, forget_known, s, e);
}

int stacks_age(struct stacks *s, struct error *e)
{
	const int err = each_chunk(s, 0, forget_known, s, e);

	if (err)
		return err;
	stack_set_fini(&s->old);
	s->old = s->now;
	s->now = (struct stack_set){};
	return 0;
}

static bool forget_each_chunk(struct batch *b, uint32_t n)
{
	(void)delete_chunks(b->context, b->fd, b->keys, n);
	return true;
}

int stacks_forget_all(struct stacks *s, struct error *e)
{
	stacks_fini(s);
	return each_chunk(s, 0, forget_each_chunk, s, e);
}
