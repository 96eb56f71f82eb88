/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/file_limit.h - how many files of images are open, and what is said where they are too
 * few. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct file_limit {
	size_t n, most;
	bool is_lower; /* than we wish: by ulimit -n */
	size_t n_kept; /* that were open when one was closed for another; 0: none was */
	bool has_told;
};

struct file_limit file_limit_of(size_t n_wished, size_t n_possible);

/* Did a file stay closed because too many are open? */
bool file_limit_is_reached(int err);

/* One is closed for another. */
void file_limit_note_closed(struct file_limit *l);

/* Names are lost for it: tell the user, once. */
void file_limit_tell(struct file_limit *l);
