// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/stacks.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "store/batch.h"

void stacks_fini(struct stacks *s)
{
	stacks_drop_old(s);
	tree_fini(&s->tree);
	u64_map_fini(&s->known);
}

static size_t part_bytes(const struct tree *tree, const struct u64_map *known)
{
	return tree_bytes(tree) + known->n_slots * sizeof(*known->slots);
}

size_t stacks_bytes(const struct stacks *s)
{
	return part_bytes(&s->tree, &s->known) + part_bytes(&s->old_tree, &s->old_known);
}

bool stacks_has_old(const struct stacks *s)
{
	return s->old_known.n_slots;
}

uint32_t stacks_renew(struct stacks *s, uint32_t number)
{
	uint64_t words[STACK_WORDS];

	return tree_add(&s->tree, words, tree_words(&s->old_tree, number, words, STACK_WORDS));
}

void stacks_drop_old(struct stacks *s)
{
	tree_fini(&s->old_tree);
	u64_map_fini(&s->old_known);
	s->old_tree = (struct tree){};
	s->old_known = (struct u64_map){};
}

/* Pass the pieces in the maps from @level on to @take. */
static int each_chunk(const struct stacks *s, unsigned level, batch_take *take, void *context,
		      struct error *e)
{
	cleanup(batch_fini) struct batch b = { .key_size = sizeof(uint64_t),
					       .value_size = sizeof(struct stack_chunk) };
	const struct batch_walk walk = { bpf_map_lookup_batch, take, context };
	int err = 0;

	for (; level < STACK_LEVELS && !err; level++)
		err = batch_each(object_stacks_fd(s->object, level), &b, &walk, e);
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

static void uncount_chunks(const struct stacks *s, int fd, uint64_t n)
{
	struct trace_state *state = object_state(s->object);

	(void)__atomic_fetch_sub(&state->n_chunks, n, __ATOMIC_RELAXED);
	if (fd == object_stacks_fd(s->object, SPARE_LEVEL))
		(void)__atomic_fetch_sub(&state->n_spare, n, __ATOMIC_RELAXED);
}

/*
 * The system call stops at a key that the map does not have. No other process deletes pieces, so
 * that happens only in drop_chunk(). Returns how many pieces it deleted.
 */
static uint32_t delete_chunks(const struct stacks *s, int fd, const uint64_t *keys, uint32_t n)
{
	if (!n || fd < 0 || (bpf_map_delete_batch(fd, keys, &n, NULL) && errno != ENOENT))
		return 0;
	uncount_chunks(s, fd, n);
	return n;
}

static bool drop_chunk(const struct stacks *s, uint64_t key)
{
	uint32_t n = 0;

	for (unsigned level = 0; level < STACK_LEVELS; level++)
		n += delete_chunks(s, object_stacks_fd(s->object, level), &key, 1);
	return n > 0;
}

/*
 * User space deletes pieces one by one, while a program may store the same stack again. So the map
 * may keep the last piece without an earlier one. Then we delete all pieces, so that the next hit
 * stores the whole stack.
 */
static size_t tear_stack(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS],
			 size_t n)
{
	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++)
		(void)drop_chunk(s, hash | i);
	words[n] = STACK_MARK_TORN;
	return n + 1;
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

size_t stacks_read(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	return read_known_stack(s, hash, words, &n) ? n : tear_stack(s, hash, words, n);
}

/* TREE_ROOT also for a stack that is only wanted: no stack has that number. */
static uint32_t stack_number_in(const struct u64_map *known, uint64_t hash)
{
	const uint32_t *number = u64_map_get(known, hash);

	return number ? *number : TREE_ROOT;
}

bool stacks_has(const struct stacks *s, uint64_t hash)
{
	return stack_number_in(&s->known, hash) || stack_number_in(&s->old_known, hash);
}

/* Add a stack to the known ones. Returns its number. */
static uint32_t keep_stack(struct stacks *s, uint64_t hash, const uint64_t *words, size_t n)
{
	const uint32_t number = tree_add(&s->tree, words, n);

	*u64_map_put(&s->known, hash, number, NULL) = number;
	return number;
}

uint32_t stacks_add(struct stacks *s, const uint64_t *words, size_t n)
{
	return tree_add(&s->tree, words, n);
}

void stacks_keep(struct stacks *s, uint64_t hash, const uint64_t *words, size_t n)
{
	if (!stack_number_in(&s->known, hash))
		(void)keep_stack(s, hash, words, n);
}

bool stacks_find(struct stacks *s, uint64_t hash, bool has_room, uint32_t *ret)
{
	uint64_t words[STACK_WORDS];
	uint32_t old;
	size_t n;

	*ret = hash ? stack_number_in(&s->known, hash) : TREE_ROOT;
	if (!hash || *ret)
		return true;
	old = stack_number_in(&s->old_known, hash);
	if (!old && (!has_room || IS_LATE_STACK(hash)))
		return false;
	n = old ? tree_words(&s->old_tree, old, words, STACK_WORDS) : stacks_read(s, hash, words);
	*ret = keep_stack(s, hash, words, n);
	return true;
}

/* -- Many at once. -- */

bool stacks_want(struct stacks *s, uint64_t hash)
{
	bool is_new = false;

	if (hash && !IS_LATE_STACK(hash) && !stack_number_in(&s->old_known, hash))
		(void)u64_map_put(&s->known, hash, TREE_ROOT, &is_new);
	return is_new;
}

static bool may_make_room(const struct stacks *s)
{
	return !s->is_over || !s->is_over(s->context);
}

struct reading {
	struct stacks *stacks;
	size_t most_bytes;
	bool is_of_all; /* else only wanted ones */
};

static bool is_to_be_read(const struct reading *r, uint64_t hash)
{
	const uint32_t *number = u64_map_get(&r->stacks->known, hash);

	return number ? *number == TREE_ROOT : r->is_of_all;
}

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

static bool keep_each_chunk(void *context, int fd, struct batch *b, uint32_t n)
{
	const struct reading *r = context;
	const uint64_t *keys = b->keys;
	const struct stack_chunk *chunks = b->values;

	(void)fd;
	for (uint32_t i = 0; i < n && stacks_bytes(r->stacks) <= r->most_bytes; i++)
		if (!(keys[i] & CHUNK_NUMBERS) && is_to_be_read(r, keys[i]))
			keep_whole(r->stacks, keys[i], &chunks[i]);
	return stacks_bytes(r->stacks) <= r->most_bytes &&
	       (!r->is_of_all || may_make_room(r->stacks));
}

int stacks_read_wanted(struct stacks *s, size_t most_bytes, struct error *e)
{
	struct reading r = { s, most_bytes, false };

	return each_chunk(s, 0, keep_each_chunk, &r, e);
}

int stacks_learn(struct stacks *s, size_t most_bytes, struct error *e)
{
	struct reading r = { s, most_bytes, true };

	return each_chunk(s, 0, keep_each_chunk, &r, e);
}

size_t stacks_words(const struct stacks *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return tree_words(&s->tree, number, words, STACK_WORDS);
}

void stacks_drop(const struct stacks *s, uint64_t hash)
{
	if (!hash || IS_LATE_STACK(hash) || stacks_has(s, hash))
		return;
	for (uint64_t key = hash; key < hash + CHUNKS_PER_STACK && drop_chunk(s, key); key++)
		;
}

bool stacks_are_many(const struct stacks *s)
{
	return __atomic_load_n(&object_state(s->object)->n_chunks, __ATOMIC_RELAXED) >=
	       s->max_chunks / 2;
}

bool stacks_spare_is_used(const struct stacks *s)
{
	return __atomic_load_n(&object_state(s->object)->n_spare, __ATOMIC_RELAXED) >=
	       SPARE_TO_NOTICE;
}

/* Delete the pieces of known stacks. */
static bool forget_known(void *context, int fd, struct batch *b, uint32_t n)
{
	const struct stacks *s = context;
	uint64_t *keys = b->keys;
	uint32_t n_known = 0;

	for (uint32_t i = 0; i < n; i++)
		if (stack_number_in(&s->known, keys[i] & ~CHUNK_NUMBERS))
			keys[n_known++] = keys[i];
	(void)delete_chunks(s, fd, keys, n_known);
	return may_make_room(s);
}

static bool forget_each_chunk(void *context, int fd, struct batch *b, uint32_t n)
{
	(void)delete_chunks(context, fd, b->keys, n);
	return true;
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
	stacks_drop_old(s);
	s->old_tree = s->tree;
	s->old_known = s->known;
	s->tree = (struct tree){};
	s->known = (struct u64_map){};
	return 0;
}

int stacks_forget_all(struct stacks *s, struct error *e)
{
	stacks_fini(s);
	s->tree = (struct tree){};
	s->known = (struct u64_map){};
	return each_chunk(s, 0, forget_each_chunk, s, e);
}
