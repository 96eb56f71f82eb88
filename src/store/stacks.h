/*
 * store/stacks.h - stacks by the kernel's hash of them.
 *
 * The programs keep each stack once, in the 'stacks' maps. Here they are copied out when they
 * are first asked for. What is copied may be forgotten there, so that there is room for new ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "bpf/object.h"
#include "store/tree.h"

/* Begin with { .object, .max_chunks }; the rest is its own. */
struct stacks {
	const struct object *object;
	uint32_t max_chunks; /* that the kernel has room for */
	struct tree tree;
	struct u64_map known; /* hash -> number in the tree; TREE_ROOT: stacks_want() */
	/* See stacks_age(). */
	struct tree old_tree;
	struct u64_map old_known;
};

void stacks_fini(struct stacks *s);

/* In user space. */
size_t stacks_bytes(const struct stacks *s);

/*
 * The number of the stack with @hash (0: none, number 0). False when it is not known and
 * @has_room is false.
 */
bool stacks_find(struct stacks *s, uint64_t hash, bool has_room, uint32_t *ret);

/*
 * Many stacks are read by few system calls: call stacks_want() for each one, then
 * stacks_read_wanted(), then stacks_find(). stacks_find() reads by itself what was not read here:
 * what does not fit into @most_bytes in user space. stacks_want() returns false for a stack that is
 * known or wanted already. Errors: from reading the maps.
 */
bool stacks_want(struct stacks *s, uint64_t hash);
must_check int stacks_read_wanted(struct stacks *s, size_t most_bytes, struct error *e);

/* Its words (bpf/abi.h), innermost first; returns how many. */
size_t stacks_words(const struct stacks *s, uint32_t number, uint64_t words[STACK_WORDS]);

/* There is no room for this stack here; let it not take the kernel's, either. */
void stacks_drop(const struct stacks *s, uint64_t hash);

/*
 * What is known becomes old: numbers are not valid any more, and a stack that is asked for gets a
 * new one. The rest is forgotten by stacks_drop_old(): not before nothing in the kernel refers to
 * what may be known here only. stacks_age() also deletes these stacks from the kernel. Later
 * nobody would: stacks_forget() deletes known stacks. Errors: as there; nothing is old then.
 */
must_check int stacks_age(struct stacks *s, struct error *e);
bool stacks_has_old(const struct stacks *s);

/* After stacks_age(): the new number of the stack that had @number before. */
uint32_t stacks_renew(struct stacks *s, uint32_t number);
void stacks_drop_old(struct stacks *s);

/* Are the kernel's maps half full? */
bool stacks_are_many(const struct stacks *s);

/* Is a quarter of the spare map in use? */
bool stacks_spare_is_used(const struct stacks *s);

/*
 * Delete in the kernel the stacks that are known here: in all maps if they are half full, else in
 * the spare one. A row whose stack was deleted at that moment finds it here. Errors: from reading
 * the maps.
 */
must_check int stacks_forget(struct stacks *s, struct error *e);

/*
 * Read the kernel's other stacks, too, up to @most_bytes of stacks_bytes(). If a row is lost, its
 * stacks stay in the kernel, and nobody asks for them. Once they are known, stacks_forget() deletes
 * them. Errors: as there.
 */
must_check int stacks_learn(struct stacks *s, size_t most_bytes, struct error *e);

/*
 * The words of the stack with @hash out of the kernel, and it is not kept here. Where a piece is
 * missing it ends with STACK_MARK_TORN.
 */
size_t stacks_read(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS]);

/* Know nothing any more, here and there. No program may be running. Errors: as stacks_forget(). */
must_check int stacks_forget_all(struct stacks *s, struct error *e);
