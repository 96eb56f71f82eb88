/*
 * reader/perf_file.h - the file in which a process names the code that it has made (its perf map):
 * /tmp/perf-NUMBER.map.
 *
 * Anybody may put something of that name there. Nothing but a regular file of the process's own
 * user or of root is opened, no link is followed, and nothing blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

struct process_identity {
	uint32_t user;    /* its effective one */
	uint32_t number;  /* of the process in its own PID namespace, the innermost */
	uint64_t started; /* ns of CLOCK_BOOTTIME; 0: not known */
};

/* Of a process that lives, or has not been waited for. False: it has gone. */
bool process_identity_read(uint32_t pid, struct process_identity *ret);

#define PERF_FILE_PATH_BYTES 32

/* "/tmp/perf-7.map" */
void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES]);

/*
 * The file for @number below @root (a directory's descriptor), by a handle (O_PATH), and what it
 * is. Errors: -ENOENT there is none; -EPERM what is there is not taken: the message says why. Needs
 * openat2(2), Linux 5.6.
 */
must_check int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle,
			      struct stat *ret, struct error *e);

/* An opener: answer ASK_PERF_MAP. */
struct answer;
struct seat;
void perf_file_answer(struct seat *seat, const void *payload, size_t n, struct answer *answer);
