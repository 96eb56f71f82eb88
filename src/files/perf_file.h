/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/perf_file.h - finds and reads a process's perf map, /tmp/perf-NUMBER.map.
 *
 * A process names the code that it made in this file. Anybody may put a file of that name there. So
 * we open only regular files of the process's own user or of root, follow no links, and never
 * block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

struct process_identity {
	uint32_t user;    /* effective user */
	uint32_t number;  /* its PID in its own (innermost) PID namespace */
	uint64_t started; /* ns of CLOCK_BOOTTIME; 0: unknown */
};

/* Read the identity of a process that lives, or that nobody has waited for. False: it has gone. */
bool process_identity_read(uint32_t pid, struct process_identity *ret);

#define PERF_FILE_PATH_BYTES 32
#define PERF_TEXT_BYTES (64UL << 20) /* an answer has at most so much of the text */

/* "/tmp/perf-7.map" */
void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES]);

/*
 * Find the perf map @number below @root, a directory's descriptor. @ret_handle is its handle
 * (O_PATH), @ret its status. Errors: -ENOENT there is none; -EPERM we refuse the file, and the
 * message says why. Needs openat2(2), Linux 5.6.
 */
must_check int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle,
			      struct stat *ret, struct error *e);
