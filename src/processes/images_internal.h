/* processes/images_internal.h - what images.c and images_twins.c share. */
#pragma once

#include "base/hash.h"
#include "processes/images.h"

struct entry {
	uint32_t number;
	enum image_kind kind;
	uint32_t n_users; /* images_hold() */
	uint32_t older;   /* the number of the next entry of the same hash, or IMAGE_NONE */
	uint64_t hash;
	uint64_t dev;
	uint64_t inode;
	struct remote_handle file; /* .handle: HANDLE_NONE if it is not open */
	char *path;                /* where a process has it */
	const char *module;        /* within that */
	bool is_opened;            /* ever: size and time are known */
	bool is_closed;            /* to make room for others */
	bool is_bad;               /* nothing is read of it */
	bool is_missed;            /* it was asked for in vain */
	bool is_memory;            /* anonymous, or a file of memory */
	bool is_newer;             /* what was found was written later than it was mapped */
	bool is_hit;               /* images_note_hit() */
	uint64_t last_used;        /* by the clock of uses */
	uint64_t tried_at;         /* ns: to open it */
	uint64_t looked_at;        /* ns: whether it is still the same */
	uint32_t pid;              /* a process that has it mapped */
	int root;                  /* that it had, or -1 */
	struct mapping where;      /* and where */
	struct file_stamp stamp;
};

struct images {
	struct entry **entries; /* by rising number */
	size_t n, capacity;
	struct u64_map index;  /* of numbers, in @entries */
	struct u64_map newest; /* by hash of device and inode, or of the name: a number */
	struct remote_files *files;
	struct roots *roots;
	uint32_t n_made; /* the highest number */
	size_t n_last;   /* entries when unused ones were forgotten last */
	uint64_t clock;
	uint64_t version;  /* images_version() */
	size_t held_bytes; /* images_held_bytes() */
	size_t n_files, max_files;
	size_t n_kept; /* files that were open when one was closed for another; 0: none was */
	bool has_told; /* that these are too few */
};

/* NULL: it is none, or was forgotten. */
struct entry *images_entry(const struct images *im, uint32_t image);

/* @file is the entry's from here on. */
void images_take_file(struct images *im, struct entry *entry, const struct remote_handle *file);

static inline bool is_open(const struct entry *entry)
{
	return entry->file.handle != HANDLE_NONE;
}
