/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/zygote.h - the process that makes a child for each question about a foreign file, and
 * reports its end.
 *
 * The main process forks it before it opens anything. So the zygote has no BPF descriptor, no
 * thread and no secret. Neither have its children. It executes no program, so it works for a
 * deleted binary, in a static one, and in a sandbox that forbids execve.
 *
 * It shares its table of descriptors with finders that hold files. A handle (O_PATH) that such a
 * finder leaves there outlives the finder, and the main process names it by its number. The kernel
 * asks no file system to close such a handle. Other children have copies of the table.
 *
 * It ends with the main process, and all children end with it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "files/question.h"
#include "files/sandbox.h"

struct child;

/* Fills in the answer, but not its number. After an error, @e has the words for the answer. */
typedef int child_work(struct child *c, struct error *e);

/* Each thread has a socket of its own to the zygote, and so has each purpose (files.h). */
#define ZYGOTE_ASKERS 3

struct zygote {
	pid_t pid;
	int controls[ZYGOTE_ASKERS]; /* -1: taken */
};

#define ZYGOTE_NONE                        \
	(struct zygote)                    \
	{                                  \
		.controls = { -1, -1, -1 } \
	}

/* Handles have this number or a higher one. Lower ones belong to the zygote. */
#define FIRST_HANDLE 16
#define MOST_HANDLES 65536

/*
 * A child that has not ended so long after it was killed hangs in a file system. It is left behind.
 * With ZYGOTE_MOST_LEFT of them the zygote makes no more children.
 */
#define ZYGOTE_LEFT_AFTER_NS 200000000ULL
#define ZYGOTE_MOST_LEFT 4

/*
 * Fork the zygote. Its children do @work. The process may have only one thread. Errors: those of
 * fork(2) and socketpair(2).
 */
must_check int zygote_start(child_work *work, struct zygote *ret, struct error *e);

/*
 * Close the sockets that are not taken. The zygote ends when all are closed. Nobody waits for it.
 */
void zygote_fini(struct zygote *z);

/* --- a child, as its work sees it --- */

struct child {
	struct question question;
	char *payload;         /* question.n_bytes */
	struct answer *answer; /* in the area, which the main process shares */
	char *data;            /* of the answer, behind it; room for @n_data bytes */
	size_t n_data;
	char name[64]; /* of the file, for messages */
};

/* The work on all kinds of questions: finder_work() or parser_work(). */
child_work files_work;

/* Looks for files, reads /proc and closes handles. Parses nothing. */
child_work finder_work;

/* Opens files, gives up all rights, and parses. */
child_work parser_work;

/* A call follows that may wait for ever. @dev: struct answer. */
void child_note_step(struct child *c, enum step step, uint64_t dev);

/*
 * For a parser: give up all rights, and all descriptors but the @n of @fds. Gives these new
 * numbers. At most CHILD_MOST_FILES.
 */
#define CHILD_MOST_FILES 12
must_check int child_confine(struct child *c, int *fds, size_t n, struct error *e);

/*
 * Publish the answer, or error @err with @e, and wait for another question about the same file.
 * False: there will be none (STAYS).
 */
bool child_next(struct child *c, int err, const struct error *e);

/* Bound of CPU time for all its work. */
#define CHILD_CPU_S 10

/* -- Finding files (find.c). -- */

/* The file's name is the end of @path. */
void child_set_name(struct child *c, const char *path);

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
 * Open a debug file at @path below @root, or below our root if it is HANDLE_NONE. @user must own
 * it, or everybody may read it; with @user 0, any will do. Returns it open for reading, or -1. Sets
 * *@is_missed if the machine has no room to look for it now.
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

/* --- areas --- */

/*
 * Make an area of @size bytes. -EFBIG: RLIMIT_FSIZE is lower. One pread(2) or pwrite(2)
 * reads or writes it as a whole.
 */
must_check int area_new(size_t size, int *ret);
