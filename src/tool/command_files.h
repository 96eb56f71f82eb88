/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/command_files.h - the files that a command is going to map: its program, the dynamic linker,
 * and the libraries that it is linked with.
 *
 * Another process reads them, because they may be hostile, and $PATH may lead into a file system
 * that does not answer. It goes on while this one loads and attaches.
 */
#pragma once

#include <stddef.h>

#include "base/aside.h"
#include "base/error.h"
#include "reader/mappings.h"

struct command_files {
	struct aside aside;
	struct mapping *files; /* path, dev and inode alone: as if mapped where nothing is */
	size_t n;
};

#define COMMAND_FILES_NONE           \
	{                            \
		.aside = ASIDE_NONE, \
	}

/*
 * Look for program @name as execvp(3) will, before anything is attached for it, and begin to read.
 * Messages call it @shown. Meanwhile a signal ends the program. @reads_libraries: else only look.
 * Errors: those of execvp(3); -ETIMEDOUT a file system does not answer; no process can be made.
 */
must_check int command_files_begin(struct command_files *f, const char *name, const char *shown,
				   bool reads_libraries, struct error *e);

/*
 * Wait for the files, and end the process. Leaves out what cannot be found or read. Call it before
 * counting begins, so that the process causes no hits.
 */
void command_files_finish(struct command_files *f);

void command_files_fini(struct command_files *f);
