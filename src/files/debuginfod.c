// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 *	$ debuginfod-find debuginfo 0d1e...      $ debuginfod-find debuginfo ffff...
 *	CACHE/debuginfod_client/0d1e.../debuginfo
 *	                                         Server query failed: No such file or directory
 *
 * The program prints the path to its standard output, and the reason for a failure to standard
 * error. Here both are one socket, and the last line counts.
 */
#include "files/debuginfod.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "elf/debug.h"
#include "files/sandbox.h"

#define MOST_NS (180 * NS_PER_S) /* for all files: a report waits for them */
#define LOOK_MS 50
#define MOST_OUTPUT 65536
#define REASON "Server query failed: "

struct debuginfod {
	uint32_t *helper;
	void (*serve)(void *context);
	void *context;
	bool may_ask;
	uint64_t spent_ns; /* by earlier fetches */
};

bool debuginfod_has_servers(void)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	return urls && urls[0];
}

struct debuginfod *debuginfod_new(uint32_t *helper, void (*serve)(void *context), void *context)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));

	d->helper = helper;
	d->serve = serve;
	d->context = context;
	d->may_ask = debuginfod_has_servers();
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	free(d);
}

/* --- in the child --- */

/* The library and libcurl need these. PATH and the variables of the loader are not among them. */
static bool is_passed_on(const char *variable)
{
	static const char *const begins[] = {
		"DEBUGINFOD_",  "HOME=",        "XDG_CACHE_HOME=", "http_proxy=",
		"https_proxy=", "HTTPS_PROXY=", "all_proxy=",      "ALL_PROXY=",
		"no_proxy=",    "NO_PROXY=",    "SSL_CERT_",
	};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncmp(variable, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* With English messages, no progress lines between them, and the program's own bounds. */
static void set_environment(void)
{
	size_t n = 0;

	for (char **at = environ; *at; at++)
		if (is_passed_on(*at))
			environ[n++] = *at;
	environ[n] = NULL;
	/* Seconds below 100 KiB/s, seconds for a file, its bytes. */
	(void)setenv("DEBUGINFOD_TIMEOUT", "10", 0);
	(void)setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	(void)setenv("DEBUGINFOD_MAXTIME", "60", 0);
	(void)setenv("DEBUGINFOD_MAXSIZE", "2147483648", 0);
	(void)setenv("LC_ALL", "C", 1);
	(void)unsetenv("DEBUGINFOD_VERBOSE");
	(void)unsetenv("DEBUGINFOD_PROGRESS");
}

/*
 * The owner of the folder with the cache and its settings could lead the program to root's files by
 * links. sudo(8) may have kept the user's HOME. A folder that the user names for this is trusted.
 */
static bool has_home_of_another(void)
{
	static const char *const names[] = { "HOME", "XDG_CACHE_HOME" };
	const char *set = getenv("DEBUGINFOD_CACHE_PATH");
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !(set && set[0]); i++) {
		const char *path = getenv(names[i]);

		if (path && stat(path, &st) == 0 && st.st_uid != geteuid())
			return true;
	}
	return false;
}

/*
 * Keep only the user, some of the environment, and @channel as output, which is closed at the end.
 * Signals that end the run stay blocked: the main process ends the program then.
 */
static void run_program(void *build_id, int channel)
{
	char name[] = "debuginfod-find", what[] = "debuginfo", begin;
	char *const arguments[] = { name, what, build_id, NULL };
	struct error e;

	/* The main process knows our PID now. Until then our hits count as another process's. */
	(void)recv(channel, &begin, 1, 0);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(channel, fd) < 0)
			return;
	closefrom(STDERR_FILENO + 1);
	set_environment();
	if (sandbox_enter(SANDBOX_FETCHER, &e))
		return;
	/* Let a write beyond the bound fail, so that the program removes its unfinished file. */
	(void)signal(SIGXFSZ, SIG_IGN);
	errno = EACCES;
	if (!has_home_of_another()) {
		(void)execve("/usr/local/bin/debuginfod-find", arguments, environ);
		(void)execve("/usr/bin/debuginfod-find", arguments, environ);
		errno = ENOSYS;
	}
	(void)dprintf(STDOUT_FILENO, REASON "%s\n", strerrordesc_np(errno));
}

/* --- the wait --- */

/* The run blocks signals that end it, and reads them later (tool/wait.c). */
static bool is_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

/* Read until the program has closed its output. False: it takes too long. */
static bool read_output(struct debuginfod *d, int channel, const char *module, struct strbuf *ret)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	bool is_told = false;
	uint64_t passed = 0;

	while (d->spent_ns + passed <= MOST_NS && !is_to_end()) {
		struct pollfd ready = { .fd = channel, .events = POLLIN };
		char bytes[4096];
		const int n = poll(&ready, 1, LOOK_MS);
		const ssize_t got = n > 0 ? recv(channel, bytes, sizeof(bytes), MSG_DONTWAIT) : 0;

		passed = clock_ns(CLOCK_MONOTONIC) - began;
		if (n > 0 && got <= 0) {
			d->spent_ns += passed;
			return true;
		}
		if (ret->n < MOST_OUTPUT)
			strbuf_put(ret, bytes, (size_t)got);
		if (d->serve)
			d->serve(d->context);
		if (passed > NS_PER_S && !is_told)
			log_warn("debuginfod: waiting for the symbols of %s (Ctrl-C goes on "
				 "without them)",
				 module);
		is_told |= passed > NS_PER_S;
	}
	return false;
}

/* --- the answer --- */

static const char *last_line(struct strbuf *output)
{
	const char *newline;

	while (output->n && output->text[output->n - 1] == '\n')
		output->text[--output->n] = '\0';
	newline = output->n ? strrchr(output->text, '\n') : NULL;
	return newline ? newline + 1 : output->n ? output->text : "";
}

static bool is_reason(const char *reason, int err)
{
	return strcmp(reason, strerrordesc_np(err)) == 0;
}

/*
 * Warn about a missing file. @line is NULL if the wait was too long. A dead server gives the same
 * reason for each file: print it once.
 */
static void warn_missing_file(struct debuginfod *d, const char *module, const char *line)
{
	const bool has_reason = line && strncmp(line, REASON, strlen(REASON)) == 0;
	const char *reason = has_reason ? line + strlen(REASON) : line;

	if (reason && is_reason(reason, ENOENT))
		return;
	d->may_ask = false;
	if (!reason || is_reason(reason, ETIME)) {
		log_warn("debuginfod: the symbols of %s did not come in time; no more are fetched",
			 module);
	} else if (is_reason(reason, ENOSYS)) {
		log_warn("DEBUGINFOD_URLS is set, but the program debuginfod-find cannot be run: "
			 "symbols are not fetched (its package is debuginfod, or "
			 "elfutils-debuginfod-client)");
	} else if (is_reason(reason, EACCES) || is_reason(reason, EPERM) ||
		   is_reason(reason, EROFS)) {
		log_warn("debuginfod: symbols are not fetched: the process that fetches may not "
			 "write to its cache (%s); DEBUGINFOD_CACHE_PATH may name another folder",
			 reason);
	} else {
		d->may_ask = true;
		log_warn_once("debuginfod: no answer about symbols: %.200s",
			      reason[0] ? reason : "the program says nothing");
	}
}

char *debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t n, const char *module)
{
	uint32_t own = 0, *helper = d->helper ? d->helper : &own;
	const uint32_t former = *helper;
	cleanup(aside_end) struct aside child = ASIDE_NONE;
	cleanup_strbuf struct strbuf output = {};
	char text[2 * MOST_BUILD_ID + 1];
	const char *line = NULL;
	struct error e;

	if (!d->may_ask || n == 0 || n > MOST_BUILD_ID)
		return NULL;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", build_id[i]);
	if (aside_start(&child, 0, run_program, text, &e)) {
		log_warn_once("debuginfod: %s", e.text);
		return NULL;
	}
	*helper = (uint32_t)child.pid;
	(void)aside_write(child.channel, "", 1);
	if (read_output(d, child.channel, module, &output))
		line = last_line(&output);
	aside_end(&child);
	*helper = former;
	if (line && line[0] == '/')
		return xstrdup(line);
	warn_missing_file(d, module, line);
	return NULL;
}
