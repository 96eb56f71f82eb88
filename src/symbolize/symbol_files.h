/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/symbol_files.h - asks for the names in files of images (processes/processes.h). Each
 * question is a child's, which opens the file and its debug file anew (files/files.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "files/files.h"
#include "processes/processes.h"

struct debuginfod;
struct symbol_files;

/* @images and @files are borrowed. symbol_files_free() frees @servers. */
struct symbol_files *symbol_files_new(struct images *images, struct files *files,
				      struct debuginfod *servers);
void symbol_files_free(struct symbol_files *sf);

/* A report begins. Forgets the entries of images that the model has forgotten. */
void symbol_files_refresh(struct symbol_files *sf);

/* Were symbols of the image's file read? */
bool symbol_files_has(const struct symbol_files *sf, uint32_t image);

/* The build of an image's file. */
struct image_build {
	uint8_t id[MOST_BUILD_ID_BYTES]; /* @n bytes; 0: not known, or none */
	size_t n;
	bool is_go; /* it is a Go program */
};

/* The build of the image's file, if its symbols were read. @opens: read what it is. */
void symbol_files_build(struct symbol_files *sf, uint32_t image, bool opens,
			struct image_build *ret);

/*
 * Ask for the names at @n @offsets of the image's file. @flags: enum names_flag. The user has had a
 * warning for errors that matter. Errors:
 *	-EAGAIN  no parser can open the file now; a later report may succeed
 *	-ENOENT  the file has no symbols, or nobody reads it any more
 */
must_check int symbol_files_ask(struct symbol_files *sf, uint32_t image, const uint64_t *offsets,
				size_t n, uint64_t flags, struct file_names *ret);
