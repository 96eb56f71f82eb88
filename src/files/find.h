/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/find.h - find files, in a child of the zygote. */
#pragma once

#include "base/error.h"
#include "elf/debug.h"
#include "files/child.h"
#include "files/mappings.h"

/*
 * Find the file of the question's payload, a mapping of the question's process: by map_files, by
 * its path below the process's root, below ours, and below the question's @root. With FIND_OURS,
 * find what is at its path below our root. *@ret_handle is its handle (O_PATH). Errors: those of
 * the first location.
 */
must_check int find_wanted(struct child *c, int *ret_handle, struct file_fact *ret,
			   struct error *e);

/* The state of the file of @handle. False: it cannot be read; errno says why. */
bool find_fact(int handle, struct file_fact *ret);

/*
 * Find candidate @number for the debug file of a file at @path (elf/debug.h), below @root, or below
 * our root if it is HANDLE_NONE. The user of the question may read it, or everybody. Returns a
 * handle (O_PATH), or -1. Sets *@is_missed if there may be a file that cannot be reached now.
 */
int find_debug(struct child *c, const struct debug_hint *hint, int root, const char *path,
	       unsigned number, bool *is_missed);

/* The same for a file at @path in our file system. */
int find_fetched(struct child *c, const char *path);
