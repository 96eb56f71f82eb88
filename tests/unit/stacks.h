/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/stacks.h - profiles of stacks that tests write down. */
#pragma once

#include "test.h"

#include "base/strbuf.h"
#include "profile/changes.h"
#include "profile/profile.h"

/* Add a stack: ADD(b, .count = 1, .frames = row, .n_user = 2). Returns its number. */
#define ADD(b, ...) profile_builder_add(b, &(const struct profile_stack){ __VA_ARGS__ })

#define cleanup_profile __attribute__((__cleanup__(profile_freep)))

static inline void free_changes(struct changes **c)
{
	changes_free(*c);
}

#define cleanup_changes __attribute__((__cleanup__(free_changes)))

/* Frees @b, too. */
static inline struct profile *finish_table(struct profile_builder *b,
					   const struct frame_table *frames)
{
	struct profile *p = profile_builder_finish(b, frames);

	profile_builder_freep(&b);
	return p;
}

static inline struct profile *difference_of(const struct profile *after,
					    const struct profile *before, bool normalize)
{
	const struct profile *both[] = { after, before };
	const struct profile_sides sides = { .of = both, .n = 2, .n_after = 1 };

	return profile_difference(&sides, KEEP_COMMS, normalize);
}

static inline int to_strbuf(void *context, const char *bytes, size_t n)
{
	strbuf_put(context, bytes, n);
	return 0;
}
