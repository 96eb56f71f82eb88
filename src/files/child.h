/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/child.h - a child of the zygote, as its work sees it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "files/question.h"
#include "files/sandbox.h"

struct child {
	struct question question;
	char *payload;         /* question.n_bytes */
	struct answer *answer; /* in the area, which the main process shares */
	char *data;            /* of the answer, behind it; room for @n_data bytes */
	size_t n_data;
	char name[64]; /* of the file, for messages */
};

/* Fills in the answer, but not its number. */
typedef void child_work(struct child *c);

/* The work on all kinds of questions: finder_work() or parser_work(). */
child_work files_work;

/* Looks for files, reads /proc and closes handles. Parses nothing. */
child_work finder_work;

/* Opens files, gives up all rights, and parses. */
child_work parser_work;

/* A call follows that may wait for ever. @dev: struct answer. */
void child_note_step(struct child *c, enum step step, uint64_t dev);

/* The file's name is the end of @path. */
void child_set_name(struct child *c, const char *path);

/* Refuse the question: @err, and up to 95 bytes of @words. */
void child_fail(struct child *c, int err, const char *words);

/*
 * For a parser: give up all rights, and all descriptors but the @n of @fds. Gives these new
 * numbers. At most CHILD_MOST_FILES. False: that failed, and the answer says why.
 */
#define CHILD_MOST_FILES 12
bool child_confine(struct child *c, int *fds, size_t n);

/*
 * Publish the answer, and wait for another question about the same file. False: there will be none
 * (STAYS).
 */
bool child_next(struct child *c);

void child_close_from(unsigned first); /* close all descriptors from @first on */

/*
 * In the new process: do the work, within CHILD_CPU_S of CPU time, and end. @area has @n_area
 * bytes.
 */
#define CHILD_CPU_S 10
_Noreturn void child_run(child_work *work, void *area, size_t n_area);

/* -- Finding files (find.c). -- */

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
 * Find a debug file at @path below @root, or below our root if it is HANDLE_NONE. @user must own
 * it, or everybody may read it; with @user 0, any will do. Returns a handle (O_PATH), or -1. Sets
 * *@is_missed if there may be a file that cannot be reached now.
 */
int find_debug(struct child *c, uint32_t user, int root, const char *path, bool *is_missed);

/*
 * Find the perf map @number (files.h) below @root, a directory's descriptor. Anybody may put a file
 * of that name there. So take only a regular file of @user or root, follow no links, and never
 * block. @ret_handle is its handle (O_PATH). Errors: -ENOENT there is none; -EPERM we refuse the
 * file, and the message says why. Needs openat2(2), Linux 5.6.
 */
must_check int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle,
			      struct file_fact *ret, struct error *e);
