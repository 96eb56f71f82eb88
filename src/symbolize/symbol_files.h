/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/symbol_files.h - the files of images (processes/images.h) that parsers have open for
 * names. A parser keeps some of them, and may end: what it has not any more is sent again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "processes/images.h"
#include "reader/name_block.h"

struct debuginfod;
struct symbol_files;

/* @images and @files are kept. symbol_files_free() frees @servers. */
struct symbol_files *symbol_files_new(struct images *images, struct remote_files *files,
				      struct debuginfod *servers);
void symbol_files_free(struct symbol_files *sf);

/* A report begins: what is known of images that nobody has mapped any more is forgotten. */
void symbol_files_refresh(struct symbol_files *sf);

/* Have symbols of its file been read? */
bool symbol_files_has(const struct symbol_files *sf, uint32_t image);

/* An answer: the facts are of the first ones of the offsets that were asked for, at least one. */
struct symbol_answer {
	struct name_view view;
	char *memory;   /* which it lies in; free() */
	bool is_missed; /* nobody could look for its debug file: a later report may have it */
};

/*
 * What is at @n @offsets of the image's file. @flags: enum names_flag. Errors, which are said if
 * they are news to the user:
 *	-EAGAIN  the file cannot be had now; another report may have more luck
 *	-ENOENT  it has no symbols, or is never read again
 */
must_check int symbol_files_ask(struct symbol_files *sf, uint32_t image, const uint64_t *offsets,
				size_t n, uint64_t flags, struct symbol_answer *ret);
