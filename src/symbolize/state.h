/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/state.h - the state of a symbolizer, for its own files: symbolizer.c makes it,
 * kernel_frames.c and user_frames.c make frames.
 */
#pragma once

#include "base/log.h"
#include "base/strtab.h"
#include "symbolize/frame_images.h"
#include "symbolize/frames.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/kernel.h"
#include "symbolize/seen.h"
#include "symbolize/symbolize.h"

/* Beside the enum frame_kind in a key. */
#define KEY_NAMED 0x100
#define KEY_INLINED 0x200
#define KEY_MADE 0x400
#define KEY_BEGUN 0x800 /* without a name, but its start is known */

struct symbolizer {
	struct symbolizer_options options;
	struct strtab *strings;         /* of @frames */
	struct strtab *process_strings; /* names of processes, and of JIT code */
	struct frames frames;
	struct frame_images frame_images; /* by @frames' table */
	struct kernel_names kernel;
	struct u64_map kernel_seen[2]; /* lasting names; [1]: of exact addresses */
	struct seen_addresses seen;
	uint32_t n_fetches; /* calls of symbolizer_fetch() */
	struct kernel_validity kernel_validity;
	struct processes *processes; /* borrowed */
	struct images *images;       /* its images */
	struct image_names *image_names;
	struct jit *jit;
	struct log_few copied; /* warnings of code that lies in a file no more */
};

/*
 * The part of a frame's key that tells addresses of one function apart. @place is the address's
 * offset in its file, or the address itself if its code is in no file.
 */
static inline uint64_t detail_of(const struct symbolizer *s, uint64_t offset, uint64_t place,
				 uint64_t addr)
{
	switch (s->options.identity) {
	case IDENTITY_FUNCTION:
		return 0;
	case IDENTITY_OFFSET:
		return offset;
	case IDENTITY_PLACE:
		return place;
	case IDENTITY_ADDRESS:
		return addr;
	}
	return 0;
}
