/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* profile/builder.h - makes a profile from stacks: equal stacks become one, with a common count. */
#pragma once

#include "profile/profile.h"

struct profile_builder;

struct profile_builder *profile_builder_new(void);
void profile_builder_free(struct profile_builder *b);
void profile_builder_freep(struct profile_builder **b);

/*
 * Add @stack's count to the stack with equal frames, pid and comm, or append a new one. With a pid,
 * a comm that is NULL equals any. Frame numbers are those of the table that
 * profile_builder_finish() gets. Copies the frames; keeps @stack->comm until then.
 */
void profile_builder_add(struct profile_builder *b, const struct profile_stack *stack);

/*
 * The profile of all stacks, in the order in which they were added, with copies of those of @frames
 * that are in a stack, and of their strings. The caller frees it. @b is empty then.
 */
struct profile *profile_builder_finish(struct profile_builder *b, const struct frame_table *frames);
