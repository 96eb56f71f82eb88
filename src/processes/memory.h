/*
 * processes/memory.h - what processes have mapped executable, and when.
 *
 * A child has what its parent had when it was made, and shares it until one of the two maps
 * something. One that was made with CLONE_VM (vfork(2), posix_spawn(3)) has the very same memory:
 * what one of the two maps the other one has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes/images.h"

/* One executable mapping, for as long as it was there. */
struct past_region {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the image's file */
	uint32_t image;
	uint64_t from;  /* ns of CLOCK_MONOTONIC; 0: it was there when it was looked at */
	uint64_t until; /* exclusive; UINT64_MAX: it is there still */
};

struct memory;

/* What they have in common. */
struct memories {
	struct images *images;
	size_t most_regions; /* of each; as many as are there at once go before those of the past */
	size_t bytes;        /* that all take */
	uint64_t n_forgotten; /* regions for which there was no room */
};

/* Empty, with one user. */
struct memory *memory_new(struct memories *all);

/* One user less. */
void memory_drop(struct memories *all, struct memory *m);

/* The same for one user more. */
struct memory *memory_share(struct memory *m);

/* One that begins with what @m has now. */
struct memory *memory_copy(struct memories *all, struct memory *m);

/* In the place of *@m, one that has no other user. */
void memory_part(struct memories *all, struct memory **m);

/* @region is mapped. True: something else was there. */
bool memory_map(struct memories *all, struct memory *m, const struct past_region *region);

/* The same, only where nothing was; false: something was there. */
bool memory_add_if_free(struct memories *all, struct memory *m, const struct past_region *region);

/* The same where something was, which is known to have been there until @until, before @region. */
void memory_replace(struct memories *all, struct memory *m, const struct past_region *region,
		    uint64_t until);

/* Forget what was there when it was looked at. */
void memory_forget_first(struct memories *all, struct memory *m);

bool memory_is_empty(const struct memory *m);

/* Has it more than one user? */
bool memory_is_shared(const struct memory *m);

/* What @addr is in at @time; 0: it is not known. Lent until something is mapped. */
const struct past_region *memory_region_at(const struct memory *m, uint64_t addr, uint64_t time);

/* How often up to @time an address got another meaning. */
uint32_t memory_epoch(const struct memory *m, uint64_t time);

/* Has it, at any time, what images_may_be_made()? */
bool memory_has_made_code(const struct images *images, const struct memory *m);
