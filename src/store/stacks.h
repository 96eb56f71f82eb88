/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/stacks.h - user space's copies of the stacks in the kernel's maps, by hash. For this room.
 *
 * The programs keep each stack once, in the maps 'stacks', under a hash of its words. User space
 * copies a stack out when a row first needs it. Later it may delete the copied stack from the
 * kernel, to make room for new ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"
#include "base/hash.h"

struct batch;

/* Receives @n elements of the map, in @b's memory. False: it needs no more of them. */
typedef bool batch_take(struct batch *b, uint32_t n);

/*
 * Reads a hash map of the kernel, many elements with each system call. Begin with the first five
 * members; batch_each() sets the rest.
 */
struct batch {
	size_t key_size, value_size;
	batch_take *take;
	void *context; /* of @take */
	bool deletes;  /* the elements that it reads */
	int fd;
	void *keys;
	void *values;
};

/*
 * Pass the elements of map @fd to @b->take, until it needs no more. A negative @fd is a map
 * without elements. Errors: the kernel's.
 */
must_check int batch_each(struct batch *b, int fd, struct error *e);

/*
 * Stacks as paths in one tree, from the outermost frame inwards, and their numbers by hash.
 *
 * Stacks of one program share most of their outer frames. So a further stack costs a few nodes
 * instead of all its frames. A stack's number is the node of its innermost frame. The way from
 * there to the root is the stack. A zeroed set is empty.
 */
struct stack_set {
	struct stack_node {
		uint64_t word; /* address or mark, see bpf/abi.h */
		uint32_t parent;
	} * nodes; /* [0] is the root, the empty stack */
	size_t n, capacity;
	uint32_t *slots; /* node numbers by (parent, word); open addressing; 0 is free */
	size_t n_slots;
	struct u64_map known; /* hash -> number */
};

/* Begin with { .object, .max_chunks }; the functions below set the rest. */
struct stacks {
	const struct object *object;
	bool (*is_over)(void *context); /* for stacks_is_over(); may be NULL */
	void *context;
	uint32_t max_chunks; /* pieces that fit into the kernel's maps */
	struct stack_set now;
	struct stack_set old; /* stacks_age() moves all stacks here */
};

void stacks_fini(struct stacks *s);

/* Does nobody need room in the kernel any more? stacks_forget() returns early then. */
bool stacks_is_over(const struct stacks *s);

/* Memory of the copies in user space, in bytes. */
size_t stacks_bytes(const struct stacks *s);

/*
 * Find the number of the stack with @hash, and copy the stack from the kernel if it is new here.
 * Hash 0 means no stack, and has number 0. Returns false if the stack is new and @has_room is
 * false.
 */
bool stacks_find(struct stacks *s, uint64_t hash, bool has_room, uint32_t *ret);

/* Add a stack that is not in the kernel's maps. Returns its number; 0 if it has no words. */
uint32_t stacks_add(struct stacks *s, const uint64_t *words, size_t n);

/* The same, and let stacks_find() find it by @hash. */
void stacks_keep(struct stacks *s, uint64_t hash, const uint64_t *words, size_t n);

/* Is the stack with @hash known here? If not, is it in the kernel (stack 0 and late ones are not)?
 */
bool stacks_has(const struct stacks *s, uint64_t hash);
bool stacks_is_new(const struct stacks *s, uint64_t hash);

/*
 * Copy the stacks that are new here with few system calls, up to @most_bytes of stacks_bytes().
 * stacks_find() reads others, one by one. A lost row leaves stacks in the kernel that no row refers
 * to. Once they are known, stacks_forget() deletes them. @may_end: when stacks_is_over(). Errors:
 * from reading the maps.
 */
must_check int stacks_copy(struct stacks *s, size_t most_bytes, bool may_end, struct error *e);

/* Write the words of a stack (bpf/abi.h) to @words, innermost first. Returns how many. */
size_t stacks_words(const struct stacks *s, uint32_t number, uint64_t words[STACK_WORDS]);

/*
 * Delete a stack from the kernel that user space has no room for. Stacks that are known here stay.
 */
void stacks_drop(const struct stacks *s, uint64_t hash);

/*
 * Begin to forget stacks that no longer come. All known stacks become old, and their numbers
 * invalid. A row that needs an old stack gets a new number for it, from stacks_find() or
 * stacks_renew(). The remaining old ones go with stacks_drop_old(). Call that only when no row in
 * the kernel refers to a stack that user space alone has.
 *
 * This also deletes all known stacks from the kernel. Nothing would delete them later, because
 * stacks_forget() deletes known stacks only. Errors: from reading the maps; then no stack is old.
 */
must_check int stacks_age(struct stacks *s, struct error *e);
bool stacks_has_old(const struct stacks *s);

/* After stacks_age(): returns the new number of the stack that had @number. */
uint32_t stacks_renew(struct stacks *s, uint32_t number);
void stacks_drop_old(struct stacks *s);

/* Are the kernel's maps half full? */
bool stacks_are_many(const struct stacks *s);

/* Are they, or is a quarter of the spare map in use? */
bool stacks_must_forget(const struct stacks *s);

/*
 * Delete the known stacks from the kernel: from all maps if they are half full, else from the map
 * 'spare'. A row may refer to a stack that is deleted meanwhile, and finds its copy here. Errors:
 * from reading the maps.
 */
must_check int stacks_forget(struct stacks *s, struct error *e);

/*
 * Read the stack with @hash from the kernel into @words, without keeping a copy. If a piece is
 * missing, the words end with STACK_MARK_TORN. Returns how many.
 */
size_t stacks_read(const struct stacks *s, uint64_t hash, uint64_t words[STACK_WORDS]);

/*
 * Forget all stacks, in user space and in the kernel. No program may be running. Errors: from
 * reading the maps.
 */
must_check int stacks_forget_all(struct stacks *s, struct error *e);
