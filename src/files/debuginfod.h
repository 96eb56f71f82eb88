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
 * Fetch the debug file for a build ID of @n bytes. Returns its path, which the caller frees, and
 * which may be any text from the program; NULL: there is none. @module is the name in messages.
 * Prints why servers fail, and after a second that it waits. A signal that ends the run ends the
 * fetch, too. No more is fetched once that took too long.
 */
char *debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t n, const char *module);
