/*
 * processes/images.h - what processes have mapped: files, the vdso, memory. Each has one number,
 * whichever processes have it mapped; names and tables hang on that.
 *
 * A file is known by device and inode, by its build ID or by when it was mapped, and by size and
 * time of change, so that a file written over in place is another image. It is opened when it is
 * first seen, because names are asked for when the process may have ended. Descriptors are bounded:
 * the least recently used are closed, and opened again if a process still has the file. Those of
 * processes that were not hit go first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes/mapped.h"
#include "processes/mapper.h"
#include "processes/stamp.h"
#include "reader/mappings.h"
#include "reader/remote_files.h"

struct images;

/* A number that is no image's. All others are given once in a run. */
#define IMAGE_NONE 0U

/* @files is kept. */
struct images *images_new(struct remote_files *files);
void images_free(struct images *im);

/* Those of all processes. Lent. */
struct roots *images_roots(struct images *im);

/* What could not be looked at: the user is told once where @err says that descriptors are too few.
 */
void images_note_error(struct images *im, int err);

/*
 * The image that @mapper has mapped as @m, a file with @stamp. If the process has gone, the file is
 * looked for below its root. Where the image is not known yet, mapper_find_root().
 */
uint32_t images_add(struct images *im, struct mapper *mapper, const struct mapping *m,
		    const struct file_stamp *stamp);

/* What is not held may be forgotten by images_add(). */
void images_hold(struct images *im, uint32_t image);
void images_release(struct images *im, uint32_t image);

/* Memory of those that are held, in bytes. */
size_t images_held_bytes(const struct images *im);

/* Was it not forgotten? */
bool images_is_known(const struct images *im, uint32_t image);

/* How many are known. */
size_t images_count(const struct images *im);

/* IMAGE_NO_FILE, too, if it was forgotten. Of others a place is the same in every process. */
enum image_kind images_kind(const struct images *im, uint32_t image);

/*
 * A process that was hit has it mapped. Where descriptors are few, its file stays open rather than
 * those of others, until the second images_refresh() from now.
 */
void images_note_hit(struct images *im, uint32_t image);

/* Is it in no file, or in one of memory: may a process have made the code there? */
bool images_is_memory(const struct images *im, uint32_t image);

/* A report begins. Files that were written over since the last one lose their names. */
void images_refresh(struct images *im);

/*
 * When this has changed, what was found before may not be so: a file was written over, or one can
 * be read that could not.
 */
uint64_t images_version(const struct images *im);

/* --- for whoever reads files --- */

/* To be freed with image_about_fini(). */
struct image_about {
	enum image_kind kind;
	struct file_stamp stamp;
	int root;           /* of a process that has it mapped: a handle, or HANDLE_NONE */
	char *path;         /* where that process has it */
	const char *module; /* within @path: "libc.so.6", "[vdso]", "[anon]" */
};

/* False: it is none, or was forgotten. */
bool images_about(const struct images *im, uint32_t image, struct image_about *ret);
void image_about_fini(struct image_about *about);

/* Its file; false: it cannot be had, or was written over. The handle stays the image's. */
bool images_open(struct images *im, uint32_t image, struct remote_handle *ret);

/* Is nothing known that forbids to read it? */
bool images_is_good(const struct images *im, uint32_t image);

/* Its file was written over, or is of another build: nothing is read of it any more. */
void images_give_up(struct images *im, uint32_t image);

/* Nothing can be read of it: its handle is of no use. */
void images_close(struct images *im, uint32_t image);

/* Lent until the next images_add(). */
struct image_file {
	const struct file_stamp *stamp;
	const char *module;
	struct remote_handle file;
};

/* The newest image below number *@at whose file is open; *@at is its number then. False: none is.
 */
bool images_next_open(const struct images *im, uint32_t *at, struct image_file *ret);

/* What is at its path here. Its handle is the caller's to close. False: there is none. */
bool images_open_ours(struct images *im, uint32_t image, struct remote_handle *ret);

/* What images_open_ours() gave is of its build, and its file from now on. The handle is taken. */
void images_take_twin(struct images *im, uint32_t image, const struct remote_handle *twin);

/* The highest number that was given. */
uint32_t images_newest(const struct images *im);

/* Lent by who made @im. */
struct remote_files *images_files(const struct images *im);
