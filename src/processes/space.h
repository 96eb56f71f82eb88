/*
 * processes/space.h - address spaces: what is mapped executable, and what was, from when until
 * when.
 *
 * A child begins with what its parent has, and both share that until one of them maps something. A
 * child that was made with CLONE_VM (vfork(2), posix_spawn(3)) has the very same space: what one of
 * the two maps the other one has, too.
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
	uint32_t image;
	uint64_t from;  /* 0: it was there when it was looked at */
	uint64_t until; /* exclusive; UINT64_MAX: it is there still */
};

struct space;

/* What they have in common. */
struct spaces {
	struct images *images;
	size_t most_regions; /* of each; as many as are there at once go before those of the past */
	size_t bytes;        /* that all take */
	uint64_t n_forgotten; /* regions for which there was no room */
	uint32_t n_numbers;   /* of contents */
};

/* Empty, with one user. */
struct space *space_new(struct spaces *all);

/* One user less. */
void space_drop(struct spaces *all, struct space *s);

/* The same for one user more. */
struct space *space_share(struct space *s);

/* One that begins with what @s has now. */
struct space *space_copy(struct spaces *all, struct space *s);

/* In the place of *@s, one that has no other user. */
void space_part(struct spaces *all, struct space **s);

/* @region is mapped. True: something else was there. */
bool space_map(struct spaces *all, struct space *s, const struct region *region);

/*
 * The same for each of @list, by rising address, that lies where nothing was, as far as there is
 * room. The others are moved to the front of @list; so many are returned.
 */
size_t space_add_free(struct spaces *all, struct space *s, struct region *list, size_t n);

/* The same where something was, which is known to have been there until @until, before @region. */
void space_replace(struct spaces *all, struct space *s, const struct region *region,
		   uint64_t until);

/* Forget what was there when it was looked at. */
void space_forget_first(struct spaces *all, struct space *s);

/* Forget all: nothing is known of before @time. This counts as forgotten for want of room. */
void space_forget(struct spaces *all, struct space *s, uint64_t time);

/* It was read since. */
void space_note_read(struct space *s);

/* Was it, or what it is a copy of, forgotten, and not read since? */
bool space_is_forgotten(const struct space *s);

/* Bytes that its regions take. Spaces that have the same ones share them evenly. */
size_t space_bytes(const struct space *s);

bool space_is_empty(const struct space *s);

/* Has it more than one user? */
bool space_is_shared(const struct space *s);

/* What @addr is in at @time; 0: it is not known. Lent until something is mapped. */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time);

/*
 * Where this is the same, whenever it was asked for, each address lies in the same region. Since
 * then addresses may have got a region that had none. 0: nothing is known of @time.
 */
uint64_t space_epoch(const struct space *s, uint64_t time);

/* images_note_hit() of what it has now. */
void space_note_hit(struct images *images, const struct space *s);

/* Has it, at any time, what images_is_memory()? */
bool space_has_memory(const struct space *s);
