/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/result_file.h - a file of -o. It is written whole or not at all: its bytes go to a temporary
 * file beside it, which is renamed when it is whole. That one's name has 16 digits more.
 *
 * Devices and FIFOs are written through. A symbolic link to anything else is replaced, so
 * nobody's link makes us write to another file. A file that was there keeps its permissions and its
 * owner. If we may not give it to that owner, it becomes ours alone, with a warning.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct result_file {
	char *name;      /* as the user gave it, with the time filled in */
	char *temporary; /* of the temporary file; NULL: there is none */
	bool is_file;    /* else it is written through */
	int fd;
	off_t n_whole; /* bytes of whole reports */
};

#define RESULT_FILE_NONE  \
	{                 \
		.fd = -1, \
	}

/*
 * Look at @name, and see whether it can be written. Opening a FIFO waits for a reader. Errors: its
 * directory is not there, is not writable, ...
 */
must_check int result_file_open(struct result_file *f, const char *name, struct error *e);

/* Give up the file that has not taken its name, and close it. */
void result_file_close(struct result_file *f);

/* A report begins: @f->fd takes its bytes. */
must_check int result_file_begin(struct result_file *f, struct error *e);

/* The report is whole: the file takes its name. Later reports follow it in the same file. */
must_check int result_file_commit(struct result_file *f, struct error *e);

/* The report is not whole: cut it off. */
void result_file_undo(struct result_file *f);
