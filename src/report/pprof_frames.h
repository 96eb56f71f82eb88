/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/pprof_frames.h - frames and images of a profile as locations, functions and mappings of a
 * pprof file. They get their numbers when a stack has them for the first time, so that frames of
 * many stacks tend to have short ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/profile.h"
#include "report/pprof_texts.h"

/* A frame with those that are inlined into it, innermost first, or a mark. */
struct pprof_location {
	const uint32_t *frames; /* the profile's */
	uint32_t n;
	bool is_kernel_side;
};

struct pprof_function {
	uint64_t name, raw_name, file; /* numbers of texts */
};

struct pprof_mapping {
	const struct frame_image *image; /* NULL: only a name is known */
	uint64_t path;                   /* number of the text */
	bool is_kernel;
	enum frame_code code;
	bool lacks_functions, lacks_files, has_inlined;
};

struct pprof_frames {
	const struct profile *p;
	struct pprof_texts *texts;
	uint32_t *by_frame; /* location of each frame alone; 0: none yet */
	struct pprof_location *locations;
	size_t n_locations, location_capacity;
	struct u64_map chains; /* other locations, by hash of their frames */
	struct pprof_function *functions;
	size_t n_functions, function_capacity;
	struct u64_map function_numbers; /* by hash of the function */
	struct pprof_mapping *mappings;
	size_t n_mappings, mapping_capacity;
	struct u64_map mapping_numbers; /* by image, or path, and what else differs */
	struct proto line;              /* being made */
};

/* Keeps @p and @texts. */
void pprof_frames_init(struct pprof_frames *f, const struct profile *p, struct pprof_texts *texts);
void pprof_frames_fini(struct pprof_frames *f);

/* The id of the location that @frames begins with. At most @n frames, of which it takes *@taken. */
uint32_t pprof_location(struct pprof_frames *f, const uint32_t *frames, size_t n,
			bool is_kernel_side, size_t *taken);

/* After the last pprof_location(): write all locations, mappings and functions. */
void pprof_frames_put(struct pprof_frames *f, struct proto *to);
