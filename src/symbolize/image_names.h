/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/image_names.h - what lies at a place in an image (processes/images.h): its function and
 * its lines. Parsers read the files; they are asked for many places of one at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/lines.h"
#include "processes/images.h"

struct debuginfod;
struct image_names;

struct image_names_options {
	struct remote_files *files; /* lent: the parsers, and openers to send them files */
	struct debuginfod *servers; /* for symbols that are not on this machine; NULL: none.
				       image_names_free() frees it */
	uint64_t flags;             /* enum names_flag */
};

/* @images is kept. */
struct image_names *image_names_new(struct images *images,
				    const struct image_names_options *options);
void image_names_free(struct image_names *f);

/* A report begins: what was read of images that nobody has mapped any more is forgotten. */
void image_names_refresh(struct image_names *f);

struct file_place {
	uint64_t vaddr;       /* of the place, as linked; where that is not known the file offset */
	const char *function; /* as it is to be shown; NULL: none */
	uint64_t start;       /* the function's vaddr, also of one without a name; 0: not known */
	bool has_start;
	bool is_last;        /* byte of the function, by its symbol */
	bool is_missed;      /* nobody could open its file or debug file: after
				image_names_refresh() somebody may */
	bool is_behind_call; /* of a function's first byte: see image_is_behind_call() */
	/* With NAMES_LINES: see image_calls_at(). */
	const struct image_call *calls;
	size_t n_calls;
};

/*
 * What is at @offset of the image's file. Strings and calls are lent until the next
 * image_names_defer(). What is not known has no function. False: it was put off.
 */
bool image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret);

/*
 * From here on, places are put off that parsers would have to be asked for. image_names_fetch()
 * asks for all of them: then they are known. False: there were none, and nothing is put off any
 * more.
 */
void image_names_defer(struct image_names *f);
bool image_names_fetch(struct image_names *f);

/* May a process have made what is there: is it in no file, or in one of memory without symbols? */
bool image_names_may_be_made(const struct image_names *f, uint32_t image);

/* Is a place in it the same in every process? */
bool image_names_has_places(const struct image_names *f, uint32_t image);

/* Is it a file, but for those of memory that no symbols are read of? */
bool image_names_is_file(const struct image_names *f, uint32_t image);
