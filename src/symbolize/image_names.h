/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/image_names.h - what lies at a place in an image (processes/images.h): its function and
 * its lines.
 *
 * The symbols of a file are read when the first name is asked for. They are bounded: those of the
 * least recently used are dropped, and read again when they are asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/lines.h"
#include "processes/images.h"

struct debuginfod;
struct image_names;

/* @images is kept. @servers: for symbols that are not on this machine; NULL: none.
 * image_names_free() frees it. */
struct image_names *image_names_new(struct images *images, struct debuginfod *servers);
void image_names_free(struct image_names *f);

/* A report begins: what was read of images that nobody has mapped any more is dropped. */
void image_names_refresh(struct image_names *f);

struct file_place {
	uint64_t vaddr;       /* of the place, as linked; where that is not known the file offset */
	const char *function; /* as in the symbol table; NULL: none. Lent until the next call */
	uint64_t start;       /* the function's vaddr, also of one without a name; 0: not known */
	bool has_start;
	bool is_last; /* byte of the function, by its symbol */
};

/* What is at @offset of the image's file. Never fails: what is not known has no function. */
void image_names_look_up(struct image_names *f, uint32_t image, uint64_t offset,
			 struct file_place *ret);

/*
 * The source of what is at @vaddr, which image_names_look_up() gave: see image_calls_at(). Strings
 * are lent until the next call.
 */
size_t image_names_calls(struct image_names *f, uint32_t image, uint64_t vaddr,
			 struct image_call *to, size_t most);

/* Of a place that image_names_look_up() gave: see image_is_behind_call(). */
bool image_names_is_behind_call(const struct image_names *f, uint32_t image, uint64_t vaddr);

/* May a process have made what is there: is it in no file, or in one of memory without symbols? */
bool image_names_may_be_made(const struct image_names *f, uint32_t image);

/* images_has_places() */
bool image_names_has_places(const struct image_names *f, uint32_t image);

/* Is it a file, but for those of memory that no symbols are read of? */
bool image_names_is_file(const struct image_names *f, uint32_t image);
