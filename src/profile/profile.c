// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/profile.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/saturated.h"
#include "base/text.h"

void profile_free(struct profile *p)
{
	if (!p)
		return;
	free(p->rows);
	free(p->frames.frames);
	free(p->frames.images);
	free(p->stacks);
	free(p->numbers);
	free(p->slices);
	free(p->parts);
	free(p->losses);
	strtab_free(p->strings);
	free(p);
}

void profile_freep(struct profile **p)
{
	profile_free(*p);
	*p = NULL;
}

/* @more is in profile.numbers. */
static void swap_values(int64_t *first, const int64_t *more, size_t i)
{
	const int64_t former = *first;

	if (!more)
		return;
	*first = more[i - 1];
	((int64_t *)more)[i - 1] = former;
}

void profile_put_value_first(struct profile *p, size_t i)
{
	const struct profile_value first = p->values[0];

	if (i == 0 || i >= p->n_values)
		return;
	p->values[0] = p->values[i];
	p->values[i] = first;
	p->total = p->total_before = p->hidden = p->hidden_before = 0;
	for (size_t k = 0; k < p->n_stacks; k++) {
		struct profile_stack *stack = &p->stacks[k];

		swap_values(&stack->count, stack->more, i);
		swap_values(&stack->count_before, stack->more_before, i);
		add_to(&p->total, stack->count);
		add_to(&p->total_before, stack->count_before);
	}
	p->n_parts = p->n_slices = 0;
}

/* The key of sorting. Has the stack's number, because qsort() does not keep the order of equals. */
struct rank {
	uint64_t weight;
	size_t stack;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_parts(const void *left, const void *right)
{
	const struct profile_part *a = left, *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->slice < b->slice ? -1 : a->slice > b->slice;
}

size_t profile_merge_parts(struct profile_part *parts, size_t n)
{
	size_t n_merged = 0;

	if (n)
		qsort(parts, n, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < n; i++) {
		if (n_merged && compare_parts(&parts[n_merged - 1], &parts[i]) == 0)
			add_to(&parts[n_merged - 1].count, parts[i].count);
		else
			parts[n_merged++] = parts[i];
	}
	return n_merged;
}

/* Keep the parts of stacks that are still there. @numbers: new ones plus 1, 0: removed. */
static void renumber_parts(struct profile *p, const uint32_t *numbers)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_parts; i++) {
		struct profile_part part = p->parts[i];

		if (!numbers[part.stack])
			continue;
		part.stack = numbers[part.stack] - 1;
		p->parts[n++] = part;
	}
	p->n_parts = profile_merge_parts(p->parts, n);
}

size_t profile_hits_value(const struct profile *p)
{
	for (size_t i = 1; i < p->n_values; i++)
		if (text_is_same(p->values[i].name, "hits"))
			return i;
	return 0;
}

uint64_t profile_n_hits(const struct profile *p)
{
	const size_t i = profile_hits_value(p);
	int64_t n = i ? p->hidden_hits : p->total;

	if (p->is_difference || (!i && !text_is_same(p->values[0].name, "hits")))
		return 0;
	for (size_t k = 0; i && k < p->n_stacks; k++)
		add_to(&n, p->stacks[k].more ? p->stacks[k].more[i - 1] : 0);
	return (uint64_t)n;
}

void profile_choose(struct profile *p, uint64_t min, size_t top)
{
	struct rank *ranks = xcalloc(p->n_stacks + 1, sizeof(*ranks));
	struct profile_stack *kept = xcalloc(p->n_stacks + 1, sizeof(*kept));
	uint32_t *numbers = xcalloc(p->n_stacks + 1, sizeof(*numbers));
	const size_t hits = profile_hits_value(p);
	size_t n = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const int64_t now = p->stacks[i].count, before = p->stacks[i].count_before;

		ranks[i].weight =
			count_magnitude(p->is_difference ? subtract_saturated(now, before) : now);
		ranks[i].stack = i;
	}
	qsort(ranks, p->n_stacks, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[ranks[i].stack];

		if ((count_magnitude(stack->count) < min &&
		     count_magnitude(stack->count_before) < min) ||
		    (top && p->n_stacks - i > top)) {
			add_to(&p->hidden, stack->count);
			add_to(&p->hidden_before, stack->count_before);
			if (hits && stack->more)
				add_to(&p->hidden_hits, stack->more[hits - 1]);
			p->n_hidden++;
		} else {
			kept[n++] = *stack;
			numbers[ranks[i].stack] = (uint32_t)n;
		}
	}
	renumber_parts(p, numbers);
	free(numbers);
	free(ranks);
	free(p->stacks);
	p->stacks = kept;
	p->n_stacks = n;
}

void profile_add_loss(struct profile *p, const char *reason, uint64_t n)
{
	if (!n)
		return;
	p->losses = xreallocarray(p->losses, p->n_losses + 1, sizeof(*p->losses));
	p->losses[p->n_losses++] = (struct profile_loss){ strtab_add(p->strings, reason), n };
}

/* --- making a profile --- */

struct profile_builder {
	struct profile *p; /* so far; frame numbers are those of the caller's table */
	size_t stack_capacity, slice_capacity, part_capacity;
	size_t row_capacity;
	size_t *starts; /* by stack: where its frames are in p->rows, which may move */
	size_t n_starts, start_capacity;
	size_t n_numbers, number_capacity; /* of p->numbers */
	struct u64_map stack_numbers;      /* by hash_stack() */
};

struct profile_builder *profile_builder_new(size_t n_values)
{
	struct profile_builder *b = xcalloc(1, sizeof(*b));

	assert(n_values >= 1 && n_values <= PROFILE_MOST_VALUES);
	b->p = xcalloc(1, sizeof(*b->p));
	b->p->n_values = n_values;
	b->p->values[0] = (struct profile_value){ "hits", "count" };
	b->p->strings = strtab_new();
	array_reserve(b->p->rows, 0, b->row_capacity);
	return b;
}

void profile_builder_freep(struct profile_builder **b)
{
	if (!*b)
		return;
	profile_free((*b)->p);
	free((*b)->starts);
	u64_map_fini(&(*b)->stack_numbers);
	free(*b);
	*b = NULL;
}

struct profile *profile_builder_profile(const struct profile_builder *b)
{
	return b->p;
}

static size_t n_frames_of(const struct profile_stack *stack)
{
	return (size_t)stack->n_kernel + stack->n_user;
}

static uint64_t hash_stack(const struct profile_stack *stack)
{
	size_t n = n_frames_of(stack);
	uint64_t h = n ? hash_bytes(stack->frames, n * sizeof(*stack->frames)) : 0;

	if (stack->pid == 0 && stack->comm)
		h = hash_mix(h) ^ hash_bytes(stack->comm, strlen(stack->comm));
	return hash_mix(h ^ (((uint64_t)stack->pid << 32) + stack->n_kernel));
}

static bool is_same_process(const struct profile_stack *a, const struct profile_stack *b)
{
	if (a->pid != b->pid)
		return false;
	if (!a->comm || !b->comm)
		return a->pid || a->comm == b->comm;
	return strcmp(a->comm, b->comm) == 0;
}

static bool is_same_stack(const struct profile_builder *b, uint32_t number,
			  const struct profile_stack *stack)
{
	const struct profile_stack *of = &b->p->stacks[number];
	const size_t n = n_frames_of(stack);

	if (!is_same_process(of, stack) || of->n_kernel != stack->n_kernel ||
	    of->n_user != stack->n_user)
		return false;
	return n == 0 || memcmp(b->p->rows + b->starts[number], stack->frames,
				n * sizeof(*stack->frames)) == 0;
}

/*
 * Add @stack's values to those of stack number @to. Numbers of a stack are in one place: further
 * values after a change, then those before.
 */
static void add_values(struct profile_builder *b, uint32_t to, const struct profile_stack *stack)
{
	const size_t n = b->p->n_values - 1;
	int64_t *numbers = n ? b->p->numbers + 2 * n * to : NULL;

	add_to(&b->p->stacks[to].count, stack->count);
	add_to(&b->p->stacks[to].count_before, stack->count_before);
	for (size_t i = 0; i < n; i++) {
		add_to(&numbers[i], stack->more ? stack->more[i] : 0);
		add_to(&numbers[n + i], stack->more_before ? stack->more_before[i] : 0);
	}
}

static void append_stack(struct profile_builder *b, const struct profile_stack *stack)
{
	struct profile_stack copy = *stack;

	copy.frames = NULL; /* until no further stack comes */
	copy.count = copy.count_before = 0;
	copy.more = copy.more_before = NULL;
	array_push(b->p->stacks, b->p->n_stacks, b->stack_capacity, copy);
	array_push(b->starts, b->n_starts, b->start_capacity, b->p->n_rows);
	for (size_t i = 0; i < n_frames_of(stack); i++)
		array_push(b->p->rows, b->p->n_rows, b->row_capacity, stack->frames[i]);
	for (size_t i = 0; i < 2 * (b->p->n_values - 1); i++)
		array_push(b->p->numbers, b->n_numbers, b->number_capacity, 0);
}

uint32_t profile_builder_add(struct profile_builder *b, const struct profile_stack *stack)
{
	struct profile *p = b->p;
	uint64_t hash = hash_stack(stack);
	uint32_t number;
	bool is_new;

	add_to(&p->total, stack->count);
	add_to(&p->total_before, stack->count_before);
	p->is_difference = p->is_difference || stack->count_before || stack->more_before;

	do
		number = *u64_map_put(&b->stack_numbers, hash++, (uint32_t)p->n_stacks, &is_new);
	while (!is_new && !is_same_stack(b, number, stack));
	if (is_new)
		append_stack(b, stack);
	if (!p->stacks[number].comm)
		p->stacks[number].comm = stack->comm;
	add_values(b, number, stack);
	return number;
}

uint32_t profile_builder_slice(struct profile_builder *b, uint64_t begin_ns, uint64_t end_ns)
{
	array_push(b->p->slices, b->p->n_slices, b->slice_capacity,
		   ((struct profile_slice){ begin_ns, end_ns }));
	return (uint32_t)(b->p->n_slices - 1);
}

void profile_builder_part(struct profile_builder *b, uint32_t stack, uint32_t slice, int64_t count)
{
	assert(stack < b->p->n_stacks && slice < b->p->n_slices);
	array_push(b->p->parts, b->p->n_parts, b->part_capacity,
		   ((struct profile_part){ stack, slice, count }));
}

/* Copy those frames of @from that stacks have, and give them new numbers. */
static void copy_frames(struct profile *p, const struct frame_table *from)
{
	uint32_t *numbers = xcalloc(from->n + 1, sizeof(*numbers)); /* new ones plus 1; 0: none */

	for (size_t i = 0; i < p->n_rows; i++) {
		uint32_t *frame = &p->rows[i];

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

static void copy_images(struct profile *p, const struct frame_table *from)
{
	uint32_t *numbers = xcalloc(from->n_images + 1, sizeof(*numbers)); /* as in copy_frames() */

	for (size_t i = 0; i < p->frames.n; i++) {
		uint32_t *image = &p->frames.frames[i].image;

		if (*image >= from->n_images) {
			*image = NO_IMAGE;
			continue;
		}
		if (!numbers[*image]) {
			array_push(p->frames.images, p->frames.n_images, p->frames.image_capacity,
				   from->images[*image]);
			numbers[*image] = (uint32_t)p->frames.n_images;
		}
		*image = numbers[*image] - 1;
	}
	free(numbers);
}

static void copy_texts(struct profile *p)
{
	for (size_t i = 0; i < p->frames.n_images; i++) {
		struct frame_image *image = &p->frames.images[i];

		image->path = strtab_add_or_null(p->strings, image->path);
		image->build_id = strtab_add_or_null(p->strings, image->build_id);
	}
	for (size_t i = 0; i < p->frames.n; i++) {
		struct frame *frame = &p->frames.frames[i];

		frame->name = strtab_add_or_null(p->strings, frame->name);
		frame->raw_name = strtab_add_or_null(p->strings, frame->raw_name);
		frame->module = strtab_add_or_null(p->strings, frame->module);
		frame->file = strtab_add_or_null(p->strings, frame->file);
	}
	for (size_t i = 0; i < p->n_stacks; i++)
		p->stacks[i].comm = strtab_add_or_null(p->strings, p->stacks[i].comm);
}

struct profile *profile_builder_finish(struct profile_builder *b, const struct frame_table *frames)
{
	struct profile *p = TAKE(b->p);
	const size_t n = p->n_values - 1;

	copy_frames(p, frames);
	copy_images(p, frames);
	copy_texts(p);
	for (size_t i = 0; i < p->n_stacks; i++) {
		p->stacks[i].frames = p->rows + b->starts[i];
		p->stacks[i].more = n ? p->numbers + 2 * n * i : NULL;
		p->stacks[i].more_before = n ? p->numbers + 2 * n * i + n : NULL;
	}
	p->n_parts = profile_merge_parts(p->parts, p->n_parts);
	free(b->starts);
	u64_map_fini(&b->stack_numbers);
	*b = (struct profile_builder){};
	return p;
}
