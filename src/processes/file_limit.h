/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/file_limit.h - how many files of images may be open, and the warning that some names
 * are missing for that reason. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct file_limit {
	size_t n, most;  /* open files, which the owner counts, and their bound */
	bool is_lower;   /* ulimit -n made @most lower than we wish */
	size_t n_kept;   /* open files when one first made room for another; 0: none did yet */
	bool has_warned; /* the user has the warning */
};

/* The lower number of the two bounds the files. */
struct file_limit file_limit_of(size_t n_wished, size_t n_possible);

/* Does @err (0 or negative errno) say that too many files are open? */
bool file_limit_is_reached(int err);

/* The owner closes a file to make room for another one. */
void file_limit_note_closed(struct file_limit *l);

/* Frames lose their names because of the bound. Warns the user once. */
void file_limit_warn(struct file_limit *l);
