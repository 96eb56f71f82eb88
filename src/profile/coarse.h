/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile/coarse.h - one table for the frames of several tables. Frames that differ only in
 * properties that nobody keeps become one.
 */
#pragma once

#include "base/hash.h"
#include "base/strtab.h"
#include "profile/frame.h"

/*
 * Beside the flags of profile/merge.h: frames are equal by name, module and kind alone, whatever
 * build they come from. Without a name, code of different builds is never equal.
 */
#define COARSE_NAMES_ONLY (1U << 31)

struct coarse {
	unsigned keep;
	struct frame_table table; /* strings are lent by the tables that were added */
	struct coarse_key *keys;  /* by frame number */
	size_t n_keys, key_capacity;
	struct u64_map numbers; /* of frames, by hash of the key */
	struct u64_map images;  /* numbers of images, likewise */
	struct strtab *strings; /* so that equal texts of several tables have one address */
};

void coarse_init(struct coarse *c, unsigned keep);
void coarse_fini(struct coarse *c);

/*
 * Add all frames of @from, which must live as long as @c. Returns their numbers in @c's table, by
 * their old numbers; the caller frees them.
 */
uint32_t *coarse_add(struct coarse *c, const struct frame_table *from);
