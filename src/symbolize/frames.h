/* symbolize/frames.h - the table of frames, and what makes two addresses one of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "symbolize/frame.h"

/* Equal keys are the same frame; compared word by word, never by a hash alone. */
struct frame_key {
	uint64_t kind;   /* enum frame_kind, and whether it is named */
	uint64_t file;   /* number of the image, or a name's address */
	uint64_t place;  /* start of the function, or the address */
	uint64_t detail; /* what -s and -v tell apart in addition */
	uint64_t source; /* a file name's address */
	uint64_t line;
};

struct frames {
	struct frame_table table;
	struct frame_key *keys; /* of each frame */
	size_t n_keys, cap_keys;
	struct u64_map numbers; /* by hash of the key */
};

void frames_fini(struct frames *f);

/* Of memory. */
size_t frames_bytes(const struct frames *f);

/* The number of @key's frame. With *@is_new the caller is to fill it in. */
uint32_t frames_number(struct frames *f, const struct frame_key *key, bool *is_new);
