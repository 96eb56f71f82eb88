/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/command.h - the command after "--": fork it, hold it before its exec, let it go, wait for
 * it. And the files that it is going to map: its program, the dynamic linker, and the libraries
 * that it is linked with.
 *
 * Another process reads them, because they may be hostile, and $PATH may lead into a file system
 * that does not answer. It goes on while this one loads and attaches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/aside.h"
#include "base/error.h"
#include "base/strbuf.h"
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
 * Wait for the files, and end the process. Leaves out what cannot be found or read. Call it before
 * counting begins, so that the process causes no hits.
 */
void command_files_finish(struct command_files *f);

struct command {
	pid_t pid;   /* 0: none */
	int gate;    /* a byte lets it exec; closing the gate ends it */
	int trouble; /* the child writes exec's errno; end of file: exec succeeded */
	int pidfd;   /* readable once it has ended; -1: there is none yet */
	int status;  /* of waitpid(2) */
	const char *name;
	char *shown;    /* the name, escaped */
	bool is_killed; /* we ended it before its program began */
	struct command_files files;
};

#define COMMAND_NONE                                                                 \
	{                                                                            \
		.gate = -1, .trouble = -1, .pidfd = -1, .files = COMMAND_FILES_NONE, \
	}

/*
 * Check that the program exists, and fork the command. It waits before its exec. @reads_libraries:
 * command_files_finish() will follow. Errors: no such program on PATH; fork.
 */
must_check int command_hold(char *const *argv, bool reads_libraries, struct command *ret,
			    struct error *e);

/*
 * Let the command exec, and wait until it has. It may hang in a file system that does not answer,
 * so must_end(@context) is asked meanwhile. If that says that the run must end, the command has one
 * second more, and is then killed. Errors: exec failed; the command has ended then.
 */
must_check int command_exec(struct command *c, bool (*must_end)(void *context), void *context,
			    struct error *e);

/* Has it ended? Fills in c->status. */
bool command_has_ended(struct command *c);

/*
 * Append "'ls' exited with status 3", "'ls' was ended by signal 9 (Killed)" or "'ls' still runs".
 */
void command_describe(const struct command *c, struct strbuf *to);

/* Close all descriptors. A command that has not begun ends; one that runs goes on. */
void command_fini(struct command *c);
