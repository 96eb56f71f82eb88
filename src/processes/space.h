/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/space.h - address spaces: the executable mappings of programs, present and past.
 *
 * A forked child gets a copy (space_copy()). The copy shares its contents with the parent's space
 * until one of the two changes. A child made with CLONE_VM (vfork(2), posix_spawn(3)) uses its
 * parent's space itself (space_share()), so it also has each later mapping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes/images.h"

/* One executable mapping, for as long as it was there. Times are ns of CLOCK_MONOTONIC. */
struct region {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the image's file */
	struct image_entry *image;
	uint64_t from;  /* 0: not known, as /proc gave it */
	uint64_t until; /* exclusive; UINT64_MAX: it is still there */
};

struct space;

/* The state that all spaces share. */
struct spaces {
	struct images *images; /* borrowed; regions hold their images */
	size_t bytes;          /* memory of all spaces */
	uint64_t n_forgotten;  /* regions forgotten for lack of room */
	uint32_t n_numbers;    /* for space_epoch() */
};

/* An empty space with one user. */
struct space *space_new(struct spaces *all);

/* One user less. The last one frees the space. */
void space_drop(struct spaces *all, struct space *s);

/* One user more. Returns @s. */
struct space *space_share(struct space *s);

/* A new space with the present contents of @s, and one user. */
struct space *space_copy(struct spaces *all, struct space *s);

/*
 * Map @region. Regions that it overlaps end at @until: region->from, or the last time that they
 * certainly were there. True: another mapping was there.
 */
bool space_map(struct spaces *all, struct space *s, const struct region *region, uint64_t until);

/*
 * Map those of @list, by rising address, that overlap nothing, as far as there is room. Moves the
 * others to the front of @list, and returns their number.
 */
size_t space_add_free(struct spaces *all, struct space *s, struct region *list, size_t n);

/* Forget all regions, to save memory. From here on nothing is known of times before @time. */
void space_forget(struct spaces *all, struct space *s, uint64_t time);

/* /proc was read: the space is not forgotten any more. */
void space_note_read(struct space *s);

/* Has space_forget() been called, for @s or its original, without a reading since? */
bool space_is_forgotten(const struct space *s);

/* Bytes of its regions. Spaces with shared contents each count an equal part. */
size_t space_bytes(const struct space *s);

bool space_is_empty(const struct space *s);

/* Has it more than one user? */
bool space_is_shared(const struct space *s);

/* The region of @addr at @time (0: now); NULL: not known. @s lends it until it changes. */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time);

/*
 * If @addr is in no file at @time: the file's image that lay there before, or lies on both sides as
 * if there was no gap. Programs copy their code to huge pages. NULL: there is none.
 */
const struct image_entry *space_copied(const struct space *s, uint64_t addr, uint64_t time);

/*
 * Copies of all regions at @time (0: now), by rising address, without overlaps. Returns their
 * number. The caller frees *@ret.
 */
size_t space_regions(const struct space *s, uint64_t time, struct region **ret);

/*
 * A number of the contents at @time; 0: not known. If two answers are equal, an address with a
 * region had the same region at both times. An address without one may have got one since.
 */
uint64_t space_epoch(const struct space *s, uint64_t time);

/* images_note_hit() for the images of its present regions. */
void space_note_hit(const struct images *images, const struct space *s);

/* Has it had a region with image->is_memory at any time? */
bool space_has_memory(const struct space *s);
