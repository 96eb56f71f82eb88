/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/debuginfod_find.h - elfutils' program debuginfod-find, which runs where its library
 * cannot be loaded. A static program has no loader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called every 50 ms while the program runs. True: end it. */
typedef bool debuginfod_is_enough(void *argument);

/*
 * Open the debug file for a build ID of @n bytes. The caller closes it, and frees its @path. The
 * program keeps to RLIMIT_FSIZE. If it ends early, it leaves no half a file in its cache.
 *
 * Errors: -ENOSYS  there is no such program
 *         -ENOENT  no server has the file
 *         -EFBIG   the file is longer than the limit, or there is no room for it
 *         -EBADMSG the answer names no file
 *         others   the reason that the program gives
 */
int debuginfod_find(const uint8_t *build_id, size_t n, debuginfod_is_enough *is_enough,
		    void *argument, char **path);
