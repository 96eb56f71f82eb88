/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/images.h - images: the files, the vdso and the memory that processes map. An image has
 * one number for all processes, and its symbols are kept by that number.
 *
 * A file is identified by
 *
 * - device and inode;
 * - its build ID, or else the time of the mapping (struct file_stamp);
 * - size and time of change. A file that is written over in place becomes another image.
 *
 * An opener opens a file at its first mapping, because the process may have ended when a report
 * needs names. The number of open files is bounded. Beyond the bound, files of processes without a
 * hit are closed first, then the least recently used. A closed file is opened again on demand, if
 * a process still has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes/mapped.h"
#include "processes/stamp.h"
#include "reader/mappings.h"
#include "reader/remote_files.h"

struct images;

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
	uint64_t hash, dev, inode;
	struct remote_handle file; /* .handle: HANDLE_NONE if it is not open */
	size_t open_at;            /* its index in images.opened then */
	char *path;                /* as a process has it */
	const char *module;        /* a part of @path, or a constant */
	bool is_opened;            /* it was open once: file.fact is known */
	bool is_closed;            /* it was closed to make room for others */
	bool is_bad;               /* nobody reads it any more */
	bool is_missed;            /* images_open() could not open it */
	bool is_refused;           /* an opener had no permission */
	bool is_memory;            /* mapped_is_memory() */
	bool is_newer;             /* the file was written after the mapping */
	uint64_t hit_in;           /* the period of the last images_note_hit(); 0: never */
	uint64_t last_used;        /* value of images.clock */
	uint64_t looked_at;        /* ns: the last look since it was opened; 0: none */
	uint32_t pid;              /* a process that has it mapped */
	int root;                  /* the root of @pid, as roots_of(); or -1 */
	struct mapping where;      /* its mapping in @pid */
	struct file_stamp stamp;
};

/* The number of no image. No other number is given twice in a run. */
#define IMAGE_NONE 0U

/* @files is borrowed and must live longer. */
struct images *images_new(struct remote_files *files);
void images_free(struct images *im);

/* The root directories of all processes. @im lends them. */
struct roots *images_roots(struct images *im);

/* A file or list could not be opened: @err. Warns the user once if descriptors ran out. */
void images_note_error(struct images *im, int err);

/* Look up the root of a process. If the process has gone, it keeps the one of its parent. */
void images_find_root(const struct images *im, struct mapper *mapper);

/*
 * The image that @mapper maps as @m, with @stamp. Opens a file that is not open yet, after
 * images_find_root(). If the process has gone, an opener looks for the file below the process's
 * root. May forget images that nobody holds.
 */
struct image_entry *images_add(struct images *im, struct mapper *mapper, const struct mapping *m,
			       const struct file_stamp *stamp);

/* Each hold needs one release. images_add() may forget an image without a hold. */
void images_hold(struct images *im, struct image_entry *image);
void images_release(struct images *im, struct image_entry *image);

/* Memory of the images that somebody holds, in bytes. */
size_t images_held_bytes(const struct images *im);

/* False: the image was forgotten, or is IMAGE_NONE. */
bool images_is_known(const struct images *im, uint32_t image);

/* Number of images that were not forgotten. */
size_t images_count(const struct images *im);

/* IMAGE_NO_FILE also for a forgotten image. For the other kinds, an offset in the image means the
 * same code in every process. */
enum image_kind images_kind(const struct images *im, uint32_t image);

/*
 * A process that was hit maps @image. Until the second images_refresh() from now, files of other
 * images are closed before this one.
 */
void images_note_hit(const struct images *im, struct image_entry *image);

/* mapped_is_memory(): may a process have written the code there? */
bool images_is_memory(const struct images *im, uint32_t image);

/* A report begins. Images whose files were written over lose their names. */
void images_refresh(struct images *im);

/*
 * A number that changes when earlier results may be wrong: a file was written over, or a missing
 * file can be read now.
 */
uint64_t images_version(const struct images *im);

/* --- for readers of files --- */

/* The caller frees it with image_about_fini(). */
struct image_about {
	enum image_kind kind;
	struct file_stamp stamp;
	struct file_state state; /* fact.is_there is 0 if no opener has opened the file yet */
	int root;                /* handle of the root of a process that maps it, or HANDLE_NONE */
	char *path;              /* as that process sees it */
	const char *module; /* part of @path: "libc.so.6", "[vdso]"; or the constant "[anon]" */
};

/* False: @image is IMAGE_NONE, or was forgotten. */
bool images_about(const struct images *im, uint32_t image, struct image_about *ret);
void image_about_fini(struct image_about *about);

/* The image's file, opened if necessary. False: no opener could open it, or somebody wrote over it.
 * @im lends the handle. */
bool images_open(struct images *im, uint32_t image, struct remote_handle *ret);

/* False: the file must not be read (images_give_up(), images_close()), or the image is forgotten.
 */
bool images_is_good(const struct images *im, uint32_t image);

/* The file was written over, or is of another build. Closes it; nobody reads it any more. */
void images_give_up(struct images *im, uint32_t image);

/* Nobody can read the file. Closes it for good. */
void images_close(struct images *im, uint32_t image);

/* An open file. Lent until the next images_add(). */
struct image_file {
	uint32_t image;
	const struct file_stamp *stamp;
	const char *module;
	struct remote_handle file;
};

/* The number of open files: a few hundred at most. */
size_t images_n_open(const struct images *im);

/* The open file with index @i below that, most of the new ones last. */
struct image_file images_open_at(const struct images *im, size_t i);

/* The file at the image's path below our own root. The caller closes the handle. False: no file is
 * there, or the image has no build ID to compare. */
bool images_open_ours(struct images *im, uint32_t image, struct remote_handle *ret);

/* @twin has the image's build ID and becomes its file. @im owns the handle from here on. */
void images_take_twin(struct images *im, uint32_t image, const struct remote_handle *twin);

/* The highest number so far. */
uint32_t images_newest(const struct images *im);

/* As given to images_new(). */
struct remote_files *images_files(const struct images *im);
