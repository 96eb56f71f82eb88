/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/debuginfod_library.h - asks debuginfod servers by elfutils' library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEBUGINFOD_LIBRARY "libdebuginfod.so.1"

/*
 * First words of the answer's lines. The last line is the file's path, or the reason for a failure.
 */
#define DEBUGINFOD_REASON "Server query failed: "
#define DEBUGINFOD_PROGRESS "progress "        /* then the bytes so far, and all; 0: unknown */
#define DEBUGINFOD_FROM "from "                /* then the URL */
#define DEBUGINFOD_CACHE "no access to cache " /* then the folder without write access */

/*
 * Ask for the debug file with a build ID of @n bytes, and print the answer. Call this in a process
 * of its own, with SIGXFSZ blocked. Returns the exit status, 0 or 1, or -1: the library cannot be
 * loaded.
 */
int debuginfod_library_ask(const uint8_t *build_id, size_t n, uint64_t most_bytes);

/*
 * Print a DEBUGINFOD_CACHE line if we may not write to the cache. For example, sudo(8) may have
 * kept another user's HOME.
 */
void debuginfod_library_print_cache(void);
