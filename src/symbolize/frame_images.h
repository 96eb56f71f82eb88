/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/frame_images.h - the images of a frame table: files and memory of processes, the kernel
 * and its modules, each with a mapping of it.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "profile/frame.h"
#include "symbolize/image_names.h"
#include "symbolize/place.h"

/* A zeroed struct is empty. */
struct frame_images {
	struct u64_map
		numbers; /* of user images, by their number (processes/processes.h) and mapping */
	struct u64_map
		kernel; /* of modules, by the address of the name in @strings; 0: the kernel */
};

void frame_images_fini(struct frame_images *f);

/*
 * The number in @table of the image at @p, with p->is_mapped. *@is_go: it is a Go program. Strings
 * are kept in @strings.
 */
uint32_t frame_images_of_user(struct frame_images *f, struct frame_table *table,
			      struct strtab *strings, struct image_names *names,
			      const struct user_place *p, bool *is_go);

/* Likewise of the kernel, or of @module, which @strings lends. */
uint32_t frame_images_of_kernel(struct frame_images *f, struct frame_table *table,
				struct strtab *strings, const char *module);
