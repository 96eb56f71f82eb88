// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/debuginfod.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "reader/debuginfod_find.h"
#include "reader/debuginfod_library.h"

/* Bounds for one file, and for all: a report waits for them. */
#define MOST_SECONDS 60
#define MOST_SECONDS_IN_ALL 180
/* Until the first byte comes. Servers that are silent for longer get no request for PAUSE_SECONDS.
 */
#define MOST_SILENT_SECONDS 10
#define PAUSE_SECONDS 60
#define TELL_SECONDS 5
/* The bound for one file. A distribution's largest debug files are smaller. */
#define MOST_BYTES (2LL << 30)

struct debuginfod {
	bool is_opened;
	bool may_ask;
	const char *module; /* name of the file, for messages */
	double began, told; /* start of the fetch, and the last message about it */
	double spent;       /* seconds of earlier fetches */
	double ask_again;   /* time from which silent servers may get requests */
	bool is_late;
	bool is_silent;    /* late because no byte came */
	int told_error;    /* negative errno of the last message */
	char *source;      /* origin of the last file */
	rlim_t most_bytes; /* bound for a file */
	struct debuginfod_options options;
};

struct debuginfod *debuginfod_new(const struct debuginfod_options *options)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));

	d->options = *options;
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	free(d->source);
	free(d);
}

static double now_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The run blocks signals that end it, and reads them later (tool/wait.c). */
static bool is_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

static void print_progress(struct debuginfod *d, long done, long all)
{
	const double mib = 1 << 20;

	if (all > 0)
		log_warn("debuginfod: %s: %.1f of %.1f MiB", d->module, (double)done / mib,
			 (double)all / mib);
	else
		log_warn("debuginfod: waiting for the symbols of %s (Ctrl-C goes on without them)",
			 d->module);
}

/* Must the fetch end? */
static bool must_end_fetch(void *argument, long done, long all)
{
	struct debuginfod *d = argument;
	double t = now_seconds();

	if (d->options.serve)
		d->options.serve(d->options.context);

	d->is_silent = d->is_silent ||
		       (!d->is_late && !done && all <= 0 && t - d->began > MOST_SILENT_SECONDS);
	d->is_late = d->is_late || d->is_silent || t - d->began > MOST_SECONDS ||
		     d->spent + t - d->began > MOST_SECONDS_IN_ALL || is_to_end();
	if (t - d->began >= 1 && t - d->told >= TELL_SECONDS) {
		print_progress(d, done, all);
		d->told = t;
	}
	return d->is_late;
}

/* The process's limit holds, too: a server may lie about the size, or compress its data. */
static rlim_t most_fetched_bytes(void)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_FSIZE, &limit);
	return limit.rlim_cur < MOST_BYTES ? limit.rlim_cur : MOST_BYTES;
}

bool debuginfod_has_servers(void)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	return urls && urls[0];
}

static void open_servers(struct debuginfod *d)
{
	d->is_opened = true;
	d->may_ask = debuginfod_has_servers();
	d->most_bytes = most_fetched_bytes();
}

const char *debuginfod_source(const struct debuginfod *d)
{
	return d->source ? d->source : "";
}

/* A silent server gives the same reason for each file. Print it for the first one. */
static void warn_fetch_error(struct debuginfod *d, int code, const char *closed_cache)
{
	const bool is_closed =
		closed_cache && (code == -EACCES || code == -EPERM || code == -EROFS);

	if (code == -ENOSYS) {
		log_warn("DEBUGINFOD_URLS is set, but neither " DEBUGINFOD_LIBRARY " nor the "
			 "program debuginfod-find can be used: symbols are not fetched");
		d->may_ask = false;
	} else if (is_closed) {
		log_warn("debuginfod: symbols are not fetched: they would be kept in %s, where "
			 "the process that fetches may not write (%s); DEBUGINFOD_CACHE_PATH may "
			 "name another folder",
			 closed_cache, strerror(-code));
		d->may_ask = false;
	} else if (code != -ENOENT && code != d->told_error) {
		log_warn("debuginfod: no answer about the symbols of %s: %s", d->module,
			 strerror(-code));
		d->told_error = code;
	}
}

/* Give the reason for the missing file to the user and to the caller. */
static int explain_missing_file(struct debuginfod *d, int code, const struct debuginfod_answer *a,
				struct error *e)
{
	if (a->is_left) {
		log_warn("debuginfod: the symbols of %s did not come in time, and the process that "
			 "fetches cannot be ended: the file system of its cache may not answer; "
			 "no more are fetched",
			 d->module);
		d->may_ask = false;
		return error_set(e, -ETIME, "%s: debuginfod's cache does not answer", d->module);
	}
	if (d->is_silent) {
		log_warn("debuginfod: no answer about the symbols of %s in %d s; no symbols are "
			 "fetched in the next %d s",
			 d->module, MOST_SILENT_SECONDS, PAUSE_SECONDS);
		d->ask_again = now_seconds() + PAUSE_SECONDS;
		return error_set(e, -ETIME, "%s: debuginfod does not answer", d->module);
	}
	if (d->is_late) {
		log_warn("debuginfod: the symbols of %s did not come in time", d->module);
		return error_set(e, -ETIME, "%s: debuginfod takes too long", d->module);
	}
	if (code == -EFBIG || code == -EIO) {
		log_warn("debuginfod: the symbols of %s are not taken: more than %llu MiB%s",
			 d->module, (unsigned long long)d->most_bytes >> 20,
			 code == -EIO ? ", or no room for them" : "");
		return error_set(e, -EFBIG, "%s: debuginfod sends too much", d->module);
	}
	warn_fetch_error(d, code, a->closed_cache);
	return error_set(e, -ENOENT, "%s: debuginfod: %s", d->module, strerror(-code));
}

int debuginfod_get_path(struct debuginfod *d, const uint8_t *build_id, size_t n, const char *module,
			char **ret_path, struct error *e)
{
	cleanup(debuginfod_answer_fini) struct debuginfod_answer answer = {};

	if (!d->is_opened)
		open_servers(d);

	const struct debuginfod_question question = { build_id, n, d->most_bytes,
						      d->options.helper };

	if (!d->may_ask || n == 0)
		return error_set(e, -ENOTSUP, "%s: debuginfod is not asked", module);
	if (d->spent > MOST_SECONDS_IN_ALL || now_seconds() < d->ask_again || is_to_end())
		return error_set(e, -ETIME, "%s: debuginfod is asked no more", module);
	d->module = module;
	d->began = now_seconds();
	d->told = 0;
	d->is_late = d->is_silent = false;
	cleanup_free_p(&d->source);

	const int code = debuginfod_find(&question, must_end_fetch, d, &answer);

	d->spent += now_seconds() - d->began;
	if (code || d->is_late)
		return explain_missing_file(d, code, &answer, e);
	d->source = TAKE(answer.source);
	*ret_path = TAKE(answer.path);
	return 0;
}
