/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/symbol_files.h - asks parsers for names. A parser keeps some files of images
 * (processes/processes.h) open. If it has closed a file, or a new parser has replaced it, an opener
 * sends the file again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "processes/processes.h"
#include "reader/name_block.h"

struct debuginfod;
struct symbol_files;

/* @images and @files are borrowed. symbol_files_free() frees @servers. */
struct symbol_files *symbol_files_new(struct images *images, struct remote_files *files,
				      struct debuginfod *servers);
void symbol_files_free(struct symbol_files *sf);

/* A report begins. Forgets the entries of images that the model has forgotten. */
void symbol_files_refresh(struct symbol_files *sf);

/* Has a parser read symbols of the image's file? */
bool symbol_files_has(const struct symbol_files *sf, uint32_t image);

/* The build of an image's file. */
struct image_build {
	uint8_t id[MOST_BUILD_ID_BYTES]; /* @n bytes; 0: not known, or none */
	size_t n;
	bool is_go; /* it is a Go program */
};

/* The build of the image's file, if a parser has read its symbols. @opens: have a parser open the
 * file for that, without looking for its debug file. */
void symbol_files_build(struct symbol_files *sf, uint32_t image, bool opens,
			struct image_build *ret);

/* An answer may be short: it has facts for the first offsets of the question, at least for one. */
struct symbol_answer {
	struct name_view view;
	char *memory;   /* @view points into it; the caller frees it */
	bool is_missed; /* no helper could look for the debug file; a later report tries again */
};

/*
 * Ask for the names at @n @offsets of the image's file. @flags: enum names_flag. The user has had a
 * warning for errors that matter. Errors:
 *	-EAGAIN  no helper can open the file now; a later report may succeed
 *	-ENOENT  the file has no symbols, or nobody reads it any more
 */
must_check int symbol_files_ask(struct symbol_files *sf, uint32_t image, const uint64_t *offsets,
				size_t n, uint64_t flags, struct symbol_answer *ret);
