/*
 * processes/images.h - the files that processes have mapped, shared by all processes.
 *
 * An image is known by device and inode, and by size and time of change, so that
 * a file written over in place is another image. Its descriptor is opened when
 * it is first seen, because names are asked for when the process may have ended;
 * its symbols are read when the first name is asked for. Both are bounded: the
 * least recently used are closed, and opened again if a process still has them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/lines.h"
#include "processes/stamp.h"
#include "reader/mappings.h"

struct debuginfod;
struct images;

/* A number that is no image's. */
#define IMAGE_NONE UINT32_MAX

/* @servers: for symbols that are not on this machine; NULL: none. images_free() frees it. */
struct images *images_new(struct debuginfod *servers);
void images_free(struct images *im);

/* Keep no more than @most descriptors open, of files and roots, and none less than one of each. */
void images_bound_files(struct images *im, size_t most);

/* See roots_of(). */
int images_root(struct images *im, uint32_t pid);

/* What could not be looked at: the user is told once where @err says that descriptors are too few.
 */
void images_note_error(struct images *im, int err);

/*
 * The image that @m of process @pid maps, a file with @stamp; numbers stay what they are. If the
 * process has gone, the file is looked for below @root (images_root(); -1: nowhere), and so are its
 * symbols.
 */
uint32_t images_add(struct images *im, uint32_t pid, int root, const struct mapping *m,
		    const struct file_stamp *stamp);

/*
 * A number is the image's while it is held; what is not may be forgotten by images_add(), and its
 * number given to another.
 */
void images_hold(struct images *im, uint32_t image);
void images_release(struct images *im, uint32_t image);

/* Never another one's; 0 of IMAGE_NONE. */
uint64_t images_serial(const struct images *im, uint32_t image);

/* How many are known. */
size_t images_count(const struct images *im);

/* "libc.so.6", "[vdso]", "[anon]". Lent until images_add(). */
const char *images_module(const struct images *im, uint32_t image);

/* Is it a file or the vdso: is a place in it the same place in every process? */
bool images_has_places(const struct images *im, uint32_t image);

/* Is it a file, but for those of memory that no symbols are read of? */
bool images_is_file(const struct images *im, uint32_t image);

/* Of a place that images_look_up() gave: see image_is_behind_call(). */
bool images_is_behind_call(const struct images *im, uint32_t image, uint64_t vaddr);

/* May what is there be code that the process has made itself: in no file, or one of memory? */
bool images_may_be_made(const struct images *im, uint32_t image);

struct image_place {
	uint64_t vaddr;       /* of the place, as linked; where that is not known the file offset */
	const char *function; /* as in the symbol table; NULL: none. Lent until the next call */
	uint64_t start;       /* the function's vaddr, also of one without a name; 0: not known */
	bool has_start;
	bool is_last; /* byte of the function, by its symbol */
};

/* Names of files that were written over since the last time are not given any more. */
void images_refresh(struct images *im);

/*
 * When this has changed, what was found before may not be so: a file was written over, or one can
 * be read that could not.
 */
uint64_t images_version(const struct images *im);

/*
 * The source of what is at @vaddr, which images_look_up() gave: see image_calls_at(). Strings
 * are lent until the next call.
 */
size_t images_calls(struct images *im, uint32_t image, uint64_t vaddr, struct image_call *to,
		    size_t most);

/* What is at @offset of the image's file. Never fails: what is not known has no function. */
void images_look_up(struct images *im, uint32_t image, uint64_t offset, struct image_place *ret);
