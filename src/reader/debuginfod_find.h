/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/debuginfod_find.h - a process that asks debuginfod servers for one file.
 *
 * It uses elfutils' library, or the program debuginfod-find if the library cannot be loaded. Only
 * ending the process can stop the wait for a silent server: the library of elfutils 0.192 calls
 * nobody back before an answer.
 *
 * The process (helper/sandbox.h) has the network and the user's files. It has no capability,
 * descriptor or shared memory of the main process. So servers reach nothing else through it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod_question {
	const uint8_t *build_id;
	size_t n;            /* its bytes */
	uint64_t most_bytes; /* bound for the file */
	uint32_t *helper;    /* lent: holds the process's PID while it runs; may be NULL */
};

/*
 * Called every 50 ms: @done of @all bytes have come; 0: unknown. True ends the process. The calls
 * go on until it has ended or is left behind.
 */
typedef bool debuginfod_is_enough(void *argument, long done, long all);

struct debuginfod_answer {
	char *path;         /* of the file, unchecked; NULL: there is none */
	char *source;       /* origin: a URL, or a file of the cache */
	char *closed_cache; /* the folder of the cache, if we may not write to it */
	bool is_left;       /* the process did not end: a file system does not answer */
};

void debuginfod_answer_fini(struct debuginfod_answer *answer);

/*
 * Fetch the debug file. Free @ret by debuginfod_answer_fini(), also after an error. A process that
 * is ended leaves no partial file in the cache. A process that hangs is left behind, with its file.
 *
 * Errors: -ENOSYS  there is neither library nor program
 *         -ENOENT  no server has the file
 *         -EFBIG   the file is longer than @most_bytes
 *         -EIO     the same, or the cache has no room: the program does not say which
 *         -EBADMSG the answer names no file
 *         -ETIMEDOUT the process was left behind, or a server gave this reason
 *         others   the reason of the process, or of the failed start
 */
int debuginfod_find(const struct debuginfod_question *question, debuginfod_is_enough *is_enough,
		    void *argument, struct debuginfod_answer *ret);
