/* processes/images_internal.h - what files are known by. For images*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/hash.h"
#include "processes/images.h"
#include "processes/mapped.h"
#include "processes/stamp.h"

struct stat;

struct entry {
	enum image_kind kind;
	bool is_free;     /* its number may be another's */
	uint32_t n_users; /* images_hold() */
	uint32_t older;   /* the next entry of the same hash, or IMAGE_NONE */
	uint64_t serial;
	uint64_t hash;
	uint64_t dev;
	uint64_t inode;
	uint64_t size; /* with the time: when it was opened */
	struct timespec changed;
	char *path;           /* where a process has it */
	const char *module;   /* within that */
	int fd;               /* -1: not open */
	bool is_opened;       /* ever: size and time are known */
	bool is_closed;       /* to make room for others */
	bool is_bad;          /* no image can be made of it */
	bool is_missed;       /* it was looked for in vain */
	bool is_memory;       /* anonymous, or a file of memory */
	struct image *image;  /* NULL: its symbols are not in memory */
	uint64_t bytes;       /* that they take */
	uint64_t last_used;   /* by the clock of look-ups */
	uint32_t pid;         /* a process that has it mapped */
	int root;             /* that it had, or -1 */
	struct mapping where; /* and where */
	struct file_stamp stamp;
	bool is_newer;    /* what was found was written later than that */
	uint64_t n_asked; /* entries made when another file of its build was looked for in vain */
};

struct images {
	struct entry *entries;
	size_t n, capacity;
	struct debug_symbols *debug;
	struct roots *roots;
	struct u64_map newest; /* by hash of device and inode, or of the name */
	uint64_t n_made;       /* entries, in all */
	size_t free_from;      /* none before this one is free */
	size_t n_used, n_last; /* entries that are not free, now and when that was looked at last */
	uint64_t clock;
	uint64_t version; /* images_version() */
	size_t n_files, max_files;
	size_t n_kept; /* files that were open when one was closed for another; 0: none was */
	bool has_told; /* that these are too few */
	size_t n_images;
	uint64_t bytes;
};

/* @entry's file is open: @fd is the entry's from here on, and @st what was said of it. */
void images_hold_file(struct images *im, struct entry *entry, int fd, const struct stat *st);

/* Was the file written over since it was opened? Its old symbols would be wrong names. */
bool images_is_stale(const struct entry *entry);

/*
 * The file is gone with its process, or was never to be reached: a container's, on a file system of
 * its own. Another file of the same build has the same names: one that other processes have mapped,
 * or what is at its path here.
 */
bool images_find_twin(struct images *im, struct entry *entry);
