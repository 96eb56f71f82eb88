/*
 * reader/debuginfod.h - debug files from servers, by build ID: what DEBUGINFOD_URLS names.
 *
 * The library of elfutils does it, and keeps what it fetched. It is loaded when it is first
 * needed. Where it cannot be loaded, its program debuginfod-find is run for each file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct debuginfod;

struct debuginfod_options {
	uint32_t *helper; /* lent: where the PID of the process that fetches stands while it runs;
			     NULL: nowhere */
	void (*serve)(void *context); /* called again and again during a fetch; NULL: nothing is */
	void *context;
};

/* Does DEBUGINFOD_URLS name any? */
bool debuginfod_has_servers(void);

struct debuginfod *debuginfod_new(const struct debuginfod_options *options);
void debuginfod_free(struct debuginfod *d);

/*
 * Have the debug file for a build ID of @n bytes fetched; *@ret_path is to free. It may be
 * anything: the process that fetches names it. @module is for messages: what takes more than a
 * second is told on standard error. A signal that ends the run ends the waiting too. Errors:
 * -ENOENT nobody has it; -ETIME it took too long; -EFBIG it is too large (both are told); -ENOTSUP
 * there is nobody to ask.
 */
must_check int debuginfod_get_path(struct debuginfod *d, const uint8_t *build_id, size_t n,
				   const char *module, char **ret_path, struct error *e);

/* Where the last answer came from: a URL, or a file of the cache. Lent until the next question. */
const char *debuginfod_source(const struct debuginfod *d);
