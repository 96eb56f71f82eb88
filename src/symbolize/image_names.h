/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/image_names.h - function and source lines of an offset in an image
 * (processes/processes.h). Each question is a child's, which opens the file and its debug file anew
 * (files/files.h). It has many offsets of one file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"
#include "files/question.h"
#include "processes/processes.h"

struct debuginfod;
struct image_names;

/*
 * @images and @files are borrowed. image_names_free() frees @servers, which may be NULL. @flags:
 * enum names_flag. @has_none: do without the names of files.
 */
struct image_names *image_names_new(struct images *images, struct files *files,
				    struct debuginfod *servers, uint64_t flags, bool has_none);
void image_names_free(struct image_names *f);

/* A report begins. Forgets all answers, so strings and calls of look-ups are not valid any more. */
void image_names_refresh(struct image_names *f);

struct file_place {
	uint64_t vaddr;       /* of the place; if not known, the file offset */
	const char *function; /* as the report shows it; NULL: none */
	uint64_t start;       /* the function's vaddr, even without a name; 0: not known */
	bool has_start;
	bool is_last;        /* the place is the function's last byte, by its symbol */
	bool is_missed;      /* no parser could open the file or its debug file; a later report
				tries again */
	bool is_behind_call; /* for a function's first byte: image_is_behind_call() */
	/* With NAMES_LINES: see image_calls_at(). */
	const struct image_call *calls;
	size_t n_calls;
};

/*
 * Look up @offset of the image's file. An unknown place has no function. False: the name is put
 * off, because a parser must be asked. image_names_fetch() asks for all such names, and returns
 * false if there is none. So look up and fetch by turns until then. A fetch may forget answers that
 * are many or may be wrong: strings and calls are lent until the next one.
 */
bool image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret);
size_t image_names_n_put_off(const struct image_names *f);
bool image_names_fetch(struct image_names *f);

/* Has a parser read the image's file? */
bool image_names_is_read(const struct image_names *f, uint32_t image);

/* The build of an image's file. */
struct image_build {
	uint8_t id[MOST_BUILD_ID_BYTES]; /* @n bytes; 0: not known, or none */
	size_t n;
};

/* The build that the kernel gave, or that was read. Without names, reads now what the file is. */
void image_names_build(struct image_names *f, uint32_t image, struct image_build *ret);
