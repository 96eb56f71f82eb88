/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/frames.h - the table of frames. Two addresses with equal keys are one frame. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/frame.h"

/* Identifies a frame. Keys are compared word by word, never by a hash alone. */
struct frame_key {
	uint64_t kind;   /* enum frame_kind, and whether it has a name */
	uint64_t file;   /* number of the image, or address of a string */
	uint64_t place;  /* start of the function, or the address */
	uint64_t detail; /* offset or address, if -s or -v shows it */
	uint64_t source; /* address of the source file's name */
	uint64_t line;
};

struct frames {
	struct frame_table table;
	struct frame_key *keys; /* by frame number */
	size_t n_keys, cap_keys;
	struct u64_map numbers; /* by hash of the key */
};

void frames_fini(struct frames *f);

/* Memory held, in bytes. */
size_t frames_bytes(const struct frames *f);

/* The number of @key's frame. If *@is_new, the caller must fill in the frame. */
uint32_t frames_number(struct frames *f, const struct frame_key *key, bool *is_new);
