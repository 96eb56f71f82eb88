// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/builder.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define BLOCK_FRAMES 65536

/* A slot of the hash table: the stack's number plus one, 0 if free, and its hash. */
struct slot {
	uint32_t stack;
	uint32_t hash;
};

struct profile_builder {
	struct profile_stack *stacks;
	size_t n, capacity;
	struct slot *slots; /* open addressing, at most half full */
	size_t n_slots;     /* power of two, or 0 */
	struct profile_block *blocks;
	size_t n_blocks, block_capacity;
	size_t size; /* frames that the last block has room for */
	uint64_t total;
};

struct profile_builder *profile_builder_new(void)
{
	return xcalloc(1, sizeof(struct profile_builder));
}

void profile_builder_free(struct profile_builder *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n_blocks; i++)
		free(b->blocks[i].frames);
	free(b->blocks);
	free(b->slots);
	free(b->stacks);
	free(b);
}

void profile_builder_freep(struct profile_builder **b)
{
	profile_builder_free(*b);
	*b = NULL;
}

static size_t n_frames_of(const struct profile_stack *stack)
{
	return (size_t)stack->n_kernel + stack->n_user;
}

static uint32_t hash_stack(const struct profile_stack *stack)
{
	size_t n = n_frames_of(stack);
	uint64_t h = n ? hash_bytes(stack->frames, n * sizeof(*stack->frames)) : 0;

	if (stack->pid == 0 && stack->comm)
		h = hash_mix(h) ^ hash_bytes(stack->comm, strlen(stack->comm));
	return (uint32_t)hash_mix(h ^ (((uint64_t)stack->pid << 32) + stack->n_kernel));
}

static bool is_same_process(const struct profile_stack *a, const struct profile_stack *b)
{
	if (a->pid != b->pid)
		return false;
	if (!a->comm || !b->comm)
		return a->pid || a->comm == b->comm;
	return strcmp(a->comm, b->comm) == 0;
}

static bool is_same_stack(const struct profile_stack *a, const struct profile_stack *b)
{
	if (!is_same_process(a, b) || a->n_kernel != b->n_kernel || a->n_user != b->n_user)
		return false;

	size_t n = n_frames_of(a);

	return n == 0 || memcmp(a->frames, b->frames, n * sizeof(*a->frames)) == 0;
}

/* Copy the frames to an address that does not change. */
static const uint32_t *keep_frames(struct profile_builder *b, const uint32_t *frames, size_t n)
{
	struct profile_block *last = b->n_blocks ? &b->blocks[b->n_blocks - 1] : NULL;

	if (n == 0)
		return NULL;
	if (!last || b->size - last->n < n) {
		b->size = n > BLOCK_FRAMES ? n : BLOCK_FRAMES;
		array_push(b->blocks, b->n_blocks, b->block_capacity,
			   ((struct profile_block){
				   .frames = xreallocarray(NULL, b->size, sizeof(*frames)) }));
		last = &b->blocks[b->n_blocks - 1];
	}

	uint32_t *copy = last->frames + last->n;

	memcpy(copy, frames, n * sizeof(*frames));
	last->n += n;
	return copy;
}

static void grow_slots(struct profile_builder *b)
{
	const size_t n_slots = b->n_slots ? b->n_slots * 2 : 256;
	struct slot *slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t old = 0; old < b->n_slots; old++) {
		size_t i = b->slots[old].hash & (n_slots - 1);

		if (!b->slots[old].stack)
			continue;
		while (slots[i].stack)
			i = (i + 1) & (n_slots - 1);
		slots[i] = b->slots[old];
	}
	free(b->slots);
	b->slots = slots;
	b->n_slots = n_slots;
}

/* The slot of the stack that equals @stack, or the free slot where it belongs. */
static struct slot *find_slot(struct profile_builder *b, const struct profile_stack *stack,
			      uint32_t hash)
{
	size_t i = hash & (b->n_slots - 1);

	for (;; i = (i + 1) & (b->n_slots - 1)) {
		struct slot *slot = &b->slots[i];

		if (!slot->stack)
			return slot;
		if (slot->hash == hash && is_same_stack(&b->stacks[slot->stack - 1], stack))
			return slot;
	}
}

void profile_builder_add(struct profile_builder *b, const struct profile_stack *stack)
{
	if (b->n * 2 >= b->n_slots)
		grow_slots(b);
	b->total += stack->count;

	const uint32_t hash = hash_stack(stack);
	struct slot *slot = find_slot(b, stack, hash);

	if (slot->stack) {
		struct profile_stack *known = &b->stacks[slot->stack - 1];

		known->count += stack->count;
		if (!known->comm)
			known->comm = stack->comm;
		return;
	}

	struct profile_stack copy = *stack;

	copy.frames = keep_frames(b, stack->frames, n_frames_of(stack));
	array_push(b->stacks, b->n, b->capacity, copy);
	*slot = (struct slot){ .stack = b->n, .hash = hash };
}

/* Copy those frames of @from that stacks have, and give them new numbers. */
static void copy_frames(struct profile *p, const struct frame_table *from)
{
	uint32_t *numbers = xcalloc(from->n + 1, sizeof(*numbers)); /* new ones plus 1; 0: none */

	for (size_t k = 0; k < p->n_blocks; k++)
		for (size_t i = 0; i < p->blocks[k].n; i++) {
			uint32_t *frame = &p->blocks[k].frames[i];

			assert(*frame < from->n);
			if (!numbers[*frame]) {
				array_push(p->frames.frames, p->frames.n, p->frames.capacity,
					   from->frames[*frame]);
				numbers[*frame] = (uint32_t)p->frames.n;
			}
			*frame = numbers[*frame] - 1;
		}
	free(numbers);
}

static const char *copy_text(struct profile *p, const char *text)
{
	return text ? strtab_add(p->strings, text) : NULL;
}

static void copy_texts(struct profile *p)
{
	p->strings = strtab_new();
	for (size_t i = 0; i < p->frames.n; i++) {
		struct frame *frame = &p->frames.frames[i];

		frame->name = copy_text(p, frame->name);
		frame->module = copy_text(p, frame->module);
		frame->file = copy_text(p, frame->file);
	}
	for (size_t i = 0; i < p->n_stacks; i++)
		p->stacks[i].comm = copy_text(p, p->stacks[i].comm);
}

struct profile *profile_builder_finish(struct profile_builder *b, const struct frame_table *frames)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->n_stacks = b->n;
	p->stacks = TAKE(b->stacks);
	p->n_blocks = b->n_blocks;
	p->blocks = TAKE(b->blocks);
	p->total = b->total;
	copy_frames(p, frames);
	copy_texts(p);
	free(b->slots);
	*b = (struct profile_builder){};
	return p;
}
