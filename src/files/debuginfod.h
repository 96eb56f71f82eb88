/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/debuginfod.h - fetches debug files by build ID from the servers in DEBUGINFOD_URLS.
 *
 * elfutils' program debuginfod-find does that, once for each file, and caches the files. It runs
 * with the network and the user's files, and without any capability, descriptor or shared memory
 * of the main process. So servers reach nothing else through it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct debuginfod;

/* Does DEBUGINFOD_URLS name a server? */
bool debuginfod_has_servers(void);

/*
 * *@helper, which is lent, holds the program's PID while it runs. @serve is called again and again
 * during a fetch. Both may be NULL.
 */
struct debuginfod *debuginfod_new(uint32_t *helper, void (*serve)(void *context), void *context);
void debuginfod_free(struct debuginfod *d);

/*
 * Fetch the debug file for a build ID of @n bytes. The caller frees *@ret_path, which may be any
 * text from the program. @module is the name in messages. Prints progress after a second. A signal
 * that ends the run ends the fetch, too, and no partial file stays in the cache.
 *
 * Errors: -ENOENT   no server has it
 *         -ENOTSUP  there is nobody to ask, or @n is 0
 *         -ETIME    it takes too long, or nothing more is fetched
 *         others    the reason that the program gives. Prints it, and why it took too long
 */
must_check int debuginfod_get_path(struct debuginfod *d, const uint8_t *build_id, size_t n,
				   const char *module, char **ret_path, struct error *e);
