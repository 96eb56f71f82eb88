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

void stacks_age(struct stacks *s)
{
	stacks_drop_old(s);
	s->old_tree = s->tree;
	s->old_known = s->known;
	s->tree = (struct tree){};
	s->known = (struct u64_map){};
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

/* Read piece @key of a stack; false where the kernel does not have it. */
static bool read_chunk(const struct stacks *s, uint64_t key, uint64_t words[CHUNK_WORDS])
{
	for (unsigned level = 0; level < STACK_LEVELS; level++) {
		int fd = object_stacks_fd(s->object, level);

		if (fd >= 0 && bpf_map_lookup_elem(fd, &key, words) == 0)
			return true;
	}
	return false;
}

static void take_from_chunks(const struct stacks *s, int fd, uint64_t n)
{
	struct trace_state *state = object_state(s->object);

	(void)__atomic_fetch_sub(&state->n_chunks, n, __ATOMIC_RELAXED);
	if (fd == object_stacks_fd(s->object, SPARE_LEVEL))
		(void)__atomic_fetch_sub(&state->n_spare, n, __ATOMIC_RELAXED);
}

/* In one call, which stops at one that is not there; only we delete. Returns how many were. */
static uint32_t delete_chunks(const struct stacks *s, int fd, const uint64_t *keys, uint32_t n)
{
	if (!n || fd < 0 || (bpf_map_delete_batch(fd, keys, &n, NULL) && errno != ENOENT))
		return 0;
	take_from_chunks(s, fd, n);
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
 * Pieces are deleted one by one, while programs may store the same stack again: its last piece may
 * stay without one before. Then it goes, too, so that the next hit stores all of them.
 */
static size_t tear(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS], size_t n)
{
	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++)
		(void)drop_chunk(s, hash | i);
	words[n] = STACK_MARK_TORN;
	return n + 1;
}

size_t stacks_read(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS])
{
	size_t n = 0;

	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++) {
		if (!read_chunk(s, hash | i, words + n))
			return tear(s, hash, words, n);
		for (size_t w = 0; w < CHUNK_WORDS; w++, n++)
			if (!words[n])
				return n;
	}
	return n;
}

bool stacks_find(struct stacks *s, uint64_t hash, bool has_room, uint32_t *ret)
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
	const uint32_t *old = stacks_has_old(s) ? u64_map_get(&s->old_known, hash) : NULL;
	size_t n;

	if (!old && !has_room)
		return false;
	n = old ? tree_words(&s->old_tree, *old, words, STACK_WORDS) : stacks_read(s, hash, words);
	*ret = tree_add(&s->tree, words, n);
	(void)u64_map_put(&s->known, hash, *ret, NULL);
	return true;
}

size_t stacks_words(const struct stacks *s, uint32_t number, uint64_t words[STACK_WORDS])
{
	return tree_words(&s->tree, number, words, STACK_WORDS);
}

void stacks_drop(const struct stacks *s, uint64_t hash)
{
	if (!hash || u64_map_get(&s->known, hash) ||
	    (stacks_has_old(s) && u64_map_get(&s->old_known, hash)))
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

/* Delete those that are known here. */
static void forget_known(void *context, int fd, struct batch *b, uint32_t n)
{
	const struct stacks *s = context;
	uint64_t *keys = b->keys;
	uint32_t n_known = 0;

	for (uint32_t i = 0; i < n; i++)
		if (u64_map_get(&s->known, keys[i] & ~CHUNK_NUMBERS))
			keys[n_known++] = keys[i];
	(void)delete_chunks(s, fd, keys, n_known);
}

static void forget_each(void *context, int fd, struct batch *b, uint32_t n)
{
	(void)delete_chunks(context, fd, b->keys, n);
}

static int forget(struct stacks *s, unsigned from_level, batch_take *take, struct error *e)
{
	cleanup(batch_fini) struct batch b = { .key_size = sizeof(uint64_t),
					       .value_size = sizeof(struct stack_chunk) };
	const struct batch_walk walk = { bpf_map_lookup_batch, take, s };
	int err = 0;

	for (unsigned level = from_level; level < STACK_LEVELS && !err; level++)
		err = batch_each(object_stacks_fd(s->object, level), &b, &walk, e);
	return err;
}

int stacks_forget(struct stacks *s, struct error *e)
{
	return forget(s, stacks_are_many(s) ? 0 : SPARE_LEVEL, forget_known, e);
}

int stacks_forget_all(struct stacks *s, struct error *e)
{
	stacks_fini(s);
	s->tree = (struct tree){};
	s->known = (struct u64_map){};
	return forget(s, 0, forget_each, e);
}
