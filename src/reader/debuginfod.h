/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/debuginfod.h - fetches debug files by build ID from the servers in DEBUGINFOD_URLS.
 *
 * The library of elfutils does that, and caches the files. It is loaded at the first question. If
 * it cannot be loaded, the program debuginfod-find runs for each file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct debuginfod;

struct debuginfod_options {
	uint32_t *helper; /* lent: holds the fetching process's PID while it runs; may be NULL */
	void (*serve)(void *context); /* called again and again during a fetch; may be NULL */
	void *context;
};

/* Does DEBUGINFOD_URLS name a server? */
bool debuginfod_has_servers(void);

struct debuginfod *debuginfod_new(const struct debuginfod_options *options);
void debuginfod_free(struct debuginfod *d);

/*
 * Fetch the debug file for a build ID of @n bytes. The caller frees *@ret_path, which may be any
 * text from the fetching process. @module is the name in messages. Prints progress after a second.
 * A signal that ends the run ends the fetch, too. Errors:
 *	-ENOENT   no server has it
 *	-ETIME    it took too long (warns)
 *	-EFBIG    it is too large (warns)
 *	-ENOTSUP  there is nobody to ask, or @n is 0
 */
must_check int debuginfod_get_path(struct debuginfod *d, const uint8_t *build_id, size_t n,
				   const char *module, char **ret_path, struct error *e);

/* The origin of the last file: a URL, or a file of the cache. Lent until the next question. */
const char *debuginfod_source(const struct debuginfod *d);
