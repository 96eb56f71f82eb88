/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/result_file.h - a file of -o. It is written whole or not at all. Its bytes go to a file
 * without a name in the same directory. When that is whole, it takes the name.
 *
 * Devices, FIFOs and sockets are written through. A symbolic link stays, and its target becomes the
 * file. A file that was there keeps its permissions and its owner. If we may not give it to that
 * owner, it becomes ours, with a warning. Group and others then have what both had before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct result_file {
	char *name; /* as the user gave it, with the time filled in */
	char *base; /* last part of the file's own path */
	int dir;    /* its directory; -1: written through */
	int fd;
	char temporary[40]; /* name of the temporary file; "": it has none */
	bool is_there;      /* it has taken its name */
	off_t n_whole;      /* bytes of whole reports, once it is there */
};

#define RESULT_FILE_NONE            \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Open @name, and make its temporary file. Opening a FIFO waits for a reader. Errors: the directory
 * is not there, is not writable, ...; -EISDIR.
 */
must_check int result_file_open(struct result_file *f, const char *name, struct error *e);

/* Give up the file that has not taken its name, and close it. */
void result_file_close(struct result_file *f);

/* Is it a regular file, whose bytes show only when result_file_commit() is over? */
bool result_file_is_regular(const struct result_file *f);

/*
 * A report is whole: the file takes its name. Later reports may follow it, and this is called again
 * after each.
 */
must_check int result_file_commit(struct result_file *f, struct error *e);

/* A report is not whole. Cut it off, unless nobody has seen the file yet. */
void result_file_undo(struct result_file *f);
