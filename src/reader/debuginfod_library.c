// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/debuginfod_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "helper/calls.h"

/* Functions of <elfutils/debuginfod.h>. The build does not need that header. */
struct library {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int n, char **path);
	void (*set_progress)(void *client, int (*function)(void *client, long done, long all));
	const char *(*get_url)(void *client);
};

static const struct {
	const char *name;
	size_t place;
} symbols[] = {
	{ "debuginfod_begin", offsetof(struct library, begin) },
	{ "debuginfod_find_debuginfo", offsetof(struct library, find) },
	{ "debuginfod_set_progressfn", offsetof(struct library, set_progress) },
	{ "debuginfod_get_url", offsetof(struct library, get_url) },
};

/* Global, because on_progress() gets no argument of ours. A process asks one question. */
static uint64_t most;
static bool is_large;

static bool load_library(struct library *ret)
{
	void *handle = dlopen(DEBUGINFOD_LIBRARY, RTLD_LAZY);

	for (size_t i = 0; handle && i < ARRAY_SIZE(symbols); i++) {
		void *function = dlsym(handle, symbols[i].name);

		if (!function)
			return false;
		memcpy((char *)ret + symbols[i].place, &function, sizeof(function));
	}
	return handle;
}

/* The library calls this when data came, and about every second. Not 0 ends the fetch. */
static int on_progress(void *client, long done, long all)
{
	(void)client;
	(void)dprintf(STDOUT_FILENO, DEBUGINFOD_PROGRESS "%ld %ld\n", done, all);
	is_large = (uint64_t)done > most || (all > 0 && (uint64_t)all > most);
	return is_large;
}

static bool was_too_long(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

/* The folder that the library chooses. The caller frees it. */
static char *cache_folder(void)
{
	const char *set = getenv("DEBUGINFOD_CACHE_PATH");
	const char *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (set && set[0])
		return xstrdup(set);
	home = home ? home : "/";

	cleanup_free char *former = xasprintf("%s/.debuginfod_client_cache", home);

	if (access(former, F_OK) == 0)
		return TAKE(former);
	return xdg && xdg[0] ? xasprintf("%s/debuginfod_client", xdg)
			     : xasprintf("%s/.cache/debuginfod_client", home);
}

/* The library makes missing folders, so check the nearest existing one. */
void debuginfod_library_print_cache(void)
{
	cleanup_free char *path = cache_folder();
	char *slash;

	while (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0) {
		slash = strrchr(path, '/');
		if (errno != ENOENT || !slash || slash == path) {
			(void)dprintf(STDOUT_FILENO, DEBUGINFOD_CACHE "%s\n", path);
			return;
		}
		*slash = '\0';
	}
}

int debuginfod_library_ask(const uint8_t *build_id, size_t n, uint64_t most_bytes)
{
	struct library library;
	char *path = NULL;
	void *client;

	if (!load_library(&library) || !(client = library.begin()))
		return -1;
	/* Not earlier: without the library, we execute a program. */
	(void)calls_deny(DENY_PROGRAMS, false);
	most = most_bytes;
	library.set_progress(client, on_progress);

	int result = library.find(client, build_id, (int)n, &path);

	if (result < 0 && (is_large || was_too_long()))
		result = -EFBIG;
	if (result < 0)
		(void)dprintf(STDOUT_FILENO, DEBUGINFOD_REASON "%s\n", strerrordesc_np(-result));
	else
		(void)dprintf(STDOUT_FILENO, DEBUGINFOD_FROM "%s\n%s\n", library.get_url(client),
			      path);
	return result < 0;
}
