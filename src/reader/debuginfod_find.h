/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/debuginfod_find.h - a process that asks debuginfod's servers for one file. It uses
 * elfutils' library, or, where that cannot be loaded, the program debuginfod-find. Its end stops
 * the waiting for a silent server: the library of elfutils 0.192 calls nobody back before an
 * answer.
 *
 * The process (helper/sandbox.h) has the network and the user's files. It has no capability, no
 * descriptor and no shared memory of the main process, so servers reach nothing else through it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod_question {
	const uint8_t *build_id;
	size_t n;            /* bytes of it */
	uint64_t most_bytes; /* that the file may have */
	uint32_t *helper;    /* lent: holds the process's PID while it runs; NULL: not wanted */
};

/*
 * Called every 50 ms: @done of @all bytes have come, 0 where that is not known. True: end it. It is
 * called on, until the process has ended or is left.
 */
typedef bool debuginfod_is_enough(void *argument, long done, long all);

struct debuginfod_answer {
	char *path;         /* of the file, which may be anything; NULL: there is none */
	char *source;       /* where it came from: a URL, or a file of the cache */
	char *closed_cache; /* the folder for what is fetched, which is not ours to write to */
	bool is_left;       /* the process could not be ended: a file system does not answer */
};

void debuginfod_answer_fini(struct debuginfod_answer *answer);

/*
 * Have the debug file fetched. @ret is for debuginfod_answer_fini(), with an error, too. A process
 * that is ended leaves no half a file in its cache. One that hangs is left behind, with its file.
 *
 * Errors: -ENOSYS  there is neither library nor program
 *         -ENOENT  no server has the file
 *         -EFBIG   the file is longer than @most_bytes
 *         -EIO     likewise, or there is no room for it: the program does not tell
 *         -EBADMSG the answer names no file
 *         -ETIMEDOUT it was left behind, or a server has given this reason
 *         others   the reason that it gives, or why there is no process
 */
int debuginfod_find(const struct debuginfod_question *question, debuginfod_is_enough *is_enough,
		    void *argument, struct debuginfod_answer *ret);
