/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/model.h - the parts of the model of processes, for this room: images and address
 * spaces. Times are ns of CLOCK_MONOTONIC.
 */
#pragma once

#include "base/hash.h"
#include "base/log.h"
#include "files/files.h"
#include "processes/processes.h"

/* --- images (images.c) --- */

/* A process that maps files. */
struct mapper {
	uint32_t pid; /* of it, or of a thread whose list of mappings can be read */
	int root;     /* as roots_of(); -1: not known */
};

/* One image. */
struct image_entry {
	uint32_t number;
	enum image_kind kind;
	uint32_t n_users; /* images_hold() */
	uint32_t older;   /* number of the next one with the same hash, or IMAGE_NONE */
	uint64_t hash;
	struct held_file file; /* .handle: HANDLE_NONE if it is not open; .fact: if it ever was */
	bool is_bad;           /* nobody reads it any more */
	bool is_missed;        /* images_open() could not open it */
	bool is_refused;       /* a finder had no permission */
	bool is_newer;         /* the file was written after the mapping */
	/*
	 * May the process have written the code? True for anonymous memory, and for files in
	 * memory: JIT compilers map these twice, for writing and for execution.
	 */
	bool is_memory;
	uint64_t hit_in;      /* the period of the last images_note_hit(); 0: never */
	uint64_t last_used;   /* value of images.clock */
	uint64_t looked_at;   /* ns: the last look since it was opened; 0: none */
	struct mapper mapper; /* a process that has it mapped */
	struct mapping where; /* its mapping there; owns the path */
	struct file_stamp stamp;
};

struct images {
	struct image_entry **entries; /* by rising number */
	size_t n, capacity;
	size_t n_opened;       /* those with an open file */
	struct u64_map index;  /* number -> index in @entries */
	struct u64_map newest; /* hash of device and inode, or of the name -> newest number */
	struct files *files;
	uint32_t n_made;        /* the highest number */
	size_t n_last;          /* entries that were left when unused ones were last forgotten */
	size_t n_refreshed;     /* entries that images_refresh() has come to so far */
	uint64_t clock, period; /* counts uses; counts images_refresh() */
	uint64_t version;       /* images_version() */
	size_t held_bytes;      /* memory of the images that somebody holds */
	size_t most_opened;     /* ulimit -n may make it lower than we wish */
	int twin;               /* the last handle of a file of ours, or HANDLE_NONE */
	size_t n_kept; /* open files when one first made room for another; 0: none did yet */
	struct log_few refused;
};

struct images *images_new(struct files *files);
void images_free(struct images *im);

/* A file or list could not be opened: @err. Warns the user once if descriptors ran out. */
void images_note_error(struct images *im, int err);

/* Look up the root of a process. If the process has gone, it keeps the one of its parent. */
void images_find_root(const struct images *im, struct mapper *mapper);

/*
 * The image that @mapper maps as @m, with @stamp. Opens a file that is not open yet, after
 * images_find_root(). If the process has gone, a finder looks for the file below the process's
 * root.
 */
struct image_entry *images_add(struct images *im, struct mapper *mapper, const struct mapping *m,
			       const struct file_stamp *stamp);

/* Each hold needs one release. Regions hold their images, present and past ones. */
void images_hold(struct images *im, struct image_entry *image);
void images_release(struct images *im, struct image_entry *image);

/* Forget the images that nobody holds, if there are many. */
void images_forget_unused(struct images *im);

/*
 * A process that was hit maps @image. Until the second images_refresh() from now, files of other
 * images are closed before this one.
 */
void images_note_hit(const struct images *im, struct image_entry *image);

/* A report begins. Images whose files were written over lose their names. */
void images_refresh(struct images *im);

/* --- address spaces (space.c): the executable mappings of programs, present and past --- */

/* One executable mapping, for as long as it was there. */
struct region {
	uint64_t start;  /* the first member: array_compare_u64() */
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the image's file */
	struct image_entry *image;
	uint64_t from;  /* 0: not known, as /proc gave it */
	uint64_t until; /* exclusive; UINT64_MAX: it is still there */
};

struct regions {
	struct region *list;
	size_t n, capacity;
};

/* Shared by a space and its copies until one of them changes. */
struct content {
	uint32_t n_users;
	uint32_t number;  /* changes when an address gets another meaning */
	uint32_t n_over;  /* past regions that were forgotten */
	uint64_t over_at; /* the latest end of those */
	uint64_t since;   /* nothing is known of earlier times */
	bool is_replaced; /* an address has got another meaning at any time */
	bool has_memory;  /* it has had a region with image->is_memory at any time */
	struct regions now, past;
	uint64_t past_start, past_end; /* no past region lies outside */
};

struct space {
	bool is_forgotten; /* space_forget() was called for it or its original, and no look since */
	struct content *content;
};

/* The state that all spaces share. */
struct spaces {
	struct images *images; /* borrowed; regions hold their images */
	size_t bytes;          /* memory of all spaces */
	uint64_t n_forgotten;  /* regions forgotten for lack of room */
	uint32_t n_numbers;    /* for space_epoch() */
};

/* An empty space. */
struct space *space_new(struct spaces *all);

void space_drop(struct spaces *all, struct space *s);

/* A new space with the present contents of @s: a forked child has one. */
struct space *space_copy(struct spaces *all, struct space *s);

/* Map @region. Regions that it overlaps end at region->from. True: another mapping was there. */
bool space_map(struct spaces *all, struct space *s, const struct region *region);

/* Map those of @list, by rising address, that overlap nothing, as far as there is room. */
void space_add_free(struct spaces *all, struct space *s, const struct region *list, size_t n);

/* Forget all regions, to save memory. From here on nothing is known of times before @time. */
void space_forget(struct spaces *all, struct space *s, uint64_t time);

/* Bytes of its regions. Spaces with shared contents each count an equal part. */
size_t space_bytes(const struct space *s);

/* The region of @addr at @time (0: now); NULL: not known. @s lends it until it changes. */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time);

/* As processes_copied(). NULL: there is none. */
const struct image_entry *space_copied(const struct space *s, uint64_t addr, uint64_t time);

/*
 * Copies of all regions at @time (0: now), by rising address, without overlaps. Returns their
 * number. The caller frees *@ret.
 */
size_t space_regions(const struct space *s, uint64_t time, struct region **ret);

/* As processes_epoch(). */
uint64_t space_epoch(const struct space *s, uint64_t time);

/* images_note_hit() for the images of its present regions. */
void space_note_hit(const struct images *images, const struct space *s);
