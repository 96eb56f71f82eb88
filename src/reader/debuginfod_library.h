/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/debuginfod_library.h - elfutils' library that asks debuginfod's servers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEBUGINFOD_LIBRARY "libdebuginfod.so.1"

/* Lines of the answer begin so. The last line is the file's path, or the reason why not. */
#define DEBUGINFOD_REASON "Server query failed: "
#define DEBUGINFOD_PROGRESS "progress " /* then bytes that have come, and all; 0: not known */
#define DEBUGINFOD_FROM "from "         /* then the URL */
#define DEBUGINFOD_CACHE "no access to cache " /* then the folder that cannot be written to */

/*
 * Ask for the debug file with a build ID of @n bytes, and print the answer. To be called in a
 * process of its own, where SIGXFSZ is blocked. Returns the status to exit with, 0 or 1, or -1: the
 * library cannot be loaded.
 */
int debuginfod_library_ask(const uint8_t *build_id, size_t n, uint64_t most_bytes);

/* Print a DEBUGINFOD_CACHE line where what is fetched cannot be kept: the folder is another user's,
 * say, whose HOME sudo(8) has kept. */
void debuginfod_library_tell_cache(void);
