/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* profile/builder.h - makes a profile from stacks: equal stacks become one, with common values. */
#pragma once

#include "profile/profile.h"

struct profile_builder;

/* @n_values: at most PROFILE_MOST_VALUES. profile.values[0] becomes hits; the caller sets others.
 */
struct profile_builder *profile_builder_new(size_t n_values);
void profile_builder_free(struct profile_builder *b);
void profile_builder_freep(struct profile_builder **b);

/*
 * Add @stack's values to the stack with equal frames, pid, comm and labels, or append a new one.
 * With a pid, a comm that is NULL equals any. Frame numbers are those of the table that
 * profile_builder_finish() gets. Copies frames and values; keeps @stack->comm until then. Returns
 * the number of the stack in the profile.
 */
uint32_t profile_builder_add(struct profile_builder *b, const struct profile_stack *stack);

/*
 * The number of the set of @n @labels, for profile_stack.labels. Equal sets have one number,
 * whatever their order. Copies the strings.
 */
uint32_t profile_builder_labels(struct profile_builder *b, const struct profile_label *labels,
				size_t n);

/* Append a slice of time; returns its number. */
uint32_t profile_builder_slice(struct profile_builder *b, uint64_t begin_ns, uint64_t end_ns);

/* Of the hits of @stack, @count came in @slice. */
void profile_builder_part(struct profile_builder *b, uint32_t stack, uint32_t slice, int64_t count);

/*
 * The profile of all stacks, in the order in which they were added. It has copies of the frames in
 * these stacks, with their images and strings. The caller frees it. @b can only be freed then.
 */
struct profile *profile_builder_finish(struct profile_builder *b, const struct frame_table *frames);
