// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 *	$ debuginfod-find debuginfo 0d1e...      $ debuginfod-find debuginfo ffff...
 *	CACHE/debuginfod_client/0d1e.../debuginfo
 *	                                         Server query failed: No such file or directory
 *
 * The program prints the path to its standard output, and the reason for a failure to standard
 * error. Here both are one file in memory, and its last line counts.
 */
#include "files/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "elf/debug.h"
#include "files/sandbox.h"
#include "files/zygote.h"

/* Bounds for one file, and for all: a report waits for them. */
#define MOST_NS (60 * NS_PER_S)
#define MOST_NS_IN_ALL (180 * NS_PER_S)
/* Until the first byte comes. Servers that are silent for longer get no request for PAUSE_NS. */
#define MOST_SILENT_NS (10 * NS_PER_S)
#define PAUSE_NS (60 * NS_PER_S)
#define TELL_NS (5 * NS_PER_S)
/* The bound for one file. A distribution's largest debug files are smaller. */
#define MOST_BYTES (2ULL << 30)

#define LOOK_MS 50
#define OUTPUT_BYTES 65536
#define NO_PROGRAM 127      /* exit status, as shells have it */
#define MOST_ERRNO 133      /* of Linux: EHWPOISON */
#define MOST_DESCRIPTORS 64 /* to search for the program's unfinished file */
#define REASON "Server query failed: "

struct debuginfod {
	uint32_t *helper;
	void (*serve)(void *context);
	void *context;
	bool may_ask;
	uint64_t spent_ns;  /* by earlier fetches */
	uint64_t ask_again; /* ns: from then on, silent servers may get requests */
	int told_error;     /* negative errno of the last message */
	uint64_t most_bytes;
};

/* One run of the program. */
struct fetch {
	struct debuginfod *d;
	const char *module;
	char build_id[2 * MOST_BUILD_ID + 1];
	uint64_t began, told; /* ns: its start, and the last message about it */
	struct aside child;
	bool has_begun;          /* a byte came */
	bool is_late, is_silent; /* it took too long; because no byte came */
	bool is_left;            /* it did not end: a file system does not answer */
	int output;
	char unfinished[PATH_MAX]; /* its unfinished file, at the last look; "": none */
};

bool debuginfod_has_servers(void)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	return urls && urls[0];
}

/* The process's limit holds, too: a server may lie about the size, or compress its data. */
struct debuginfod *debuginfod_new(uint32_t *helper, void (*serve)(void *context), void *context)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));
	struct rlimit limit;

	(void)getrlimit(RLIMIT_FSIZE, &limit);
	d->helper = helper;
	d->serve = serve;
	d->context = context;
	d->may_ask = debuginfod_has_servers();
	d->most_bytes = limit.rlim_cur < MOST_BYTES ? limit.rlim_cur : MOST_BYTES;
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

/* With English messages, and no progress lines between them. */
static void set_environment(uint64_t most_bytes)
{
	char bytes[32];
	size_t n = 0;

	for (char **at = environ; *at; at++)
		if (is_passed_on(*at))
			environ[n++] = *at;
	environ[n] = NULL;
	(void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)most_bytes);
	(void)setenv("DEBUGINFOD_MAXSIZE", bytes, 0);
	(void)setenv("LC_ALL", "C", 1);
	(void)unsetenv("DEBUGINFOD_VERBOSE");
	(void)unsetenv("DEBUGINFOD_PROGRESS");
}

/*
 * A write beyond RLIMIT_FSIZE must fail, not kill, so that the program removes its unfinished file.
 * So block SIGXFSZ. Block SIGINT, too: the main process passes on signals that end the run.
 */
static void block_fetcher_signals(void)
{
	sigset_t blocked;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGXFSZ);
	(void)sigaddset(&blocked, SIGINT);
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
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

static void enter_sandbox(void)
{
	struct error e;

	if (sandbox_enter(SANDBOX_FETCHER, &e))
		_exit(1);
}

/* Keep only the user, some of the environment, the output, and @channel, which is closed at the
 * end. */
static void run_program(void *argument, int channel)
{
	struct fetch *f = argument;
	char name[] = "debuginfod-find", what[] = "debuginfo", begin;
	char *const arguments[] = { name, what, f->build_id, NULL };
	const struct rlimit most = { f->d->most_bytes, f->d->most_bytes };

	/* The main process knows our PID now. Until then our hits count as another process's. */
	(void)recv(channel, &begin, 1, 0);
	if (dup2(channel, STDIN_FILENO) < 0 || dup2(f->output, STDOUT_FILENO) < 0 ||
	    dup2(f->output, STDERR_FILENO) < 0)
		return;
	closefrom(STDERR_FILENO + 1);
	(void)setrlimit(RLIMIT_FSIZE, &most);
	enter_sandbox();
	set_environment(f->d->most_bytes);
	block_fetcher_signals();
	if (has_home_of_another()) {
		(void)dprintf(STDOUT_FILENO, REASON "%s\n", strerrordesc_np(EACCES));
		_exit(1);
	}
	(void)execve("/usr/local/bin/debuginfod-find", arguments, environ);
	(void)execve("/usr/bin/debuginfod-find", arguments, environ);
	_exit(NO_PROGRAM);
}

static void remove_file(void *path, int channel)
{
	aside_close_others(&channel);
	enter_sandbox();
	(void)unlink(path);
}

/* --- the wait --- */

/* The run blocks signals that end it, and reads them later (tool/wait.c). */
static bool is_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

/*
 * Find the unfinished file, CACHE/BUILDID/debuginfo.SUFFIX. mkstemp(3) makes the suffix. Returns
 * the position in it; 0 if there is none. Asks nothing of its file system, which may hang.
 */
static long find_unfinished(struct fetch *f)
{
	char pattern[sizeof(f->build_id) + 16], link[64], text[256];
	long bytes = 0;

	(void)snprintf(pattern, sizeof(pattern), "/%s/debuginfo.", f->build_id);
	for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", f->child.pid, fd);

		const ssize_t n = readlink(link, f->unfinished, PATH_MAX - 1);

		f->unfinished[n > 0 ? n : 0] = '\0';
		if (!strstr(f->unfinished, pattern))
			continue;
		(void)snprintf(link, sizeof(link), "/proc/%d/fdinfo/%d", f->child.pid, fd);
		if (read_small(AT_FDCWD, link, text, sizeof(text)) >= 0)
			(void)sscanf(text, "pos: %ld", &bytes);
		return bytes;
	}
	f->unfinished[0] = '\0';
	return 0;
}

static bool must_end_fetch(struct fetch *f)
{
	const struct debuginfod *d = f->d;
	const long done = find_unfinished(f);

	if (d->serve)
		d->serve(d->context);

	const uint64_t now = clock_ns(CLOCK_MONOTONIC), passed = now - f->began;

	f->has_begun = f->has_begun || done; /* a complete file has another name */
	f->is_silent = !f->has_begun && passed > MOST_SILENT_NS;
	f->is_late = f->is_silent || passed > MOST_NS || d->spent_ns + passed > MOST_NS_IN_ALL ||
		     is_to_end();
	if (passed > NS_PER_S && now - f->told > TELL_NS) {
		log_warn("debuginfod: waiting for the symbols of %s: %.1f MiB so far (Ctrl-C goes "
			 "on without them)",
			 f->module, (double)done / (1 << 20));
		f->told = now;
	}
	return f->is_late;
}

/* Only a file system that does not answer holds a killed program up. */
static void kill_program(struct fetch *f)
{
	const pid_t pid = f->child.pid;

	aside_end(&f->child);
	f->is_left = process_state(pid) == 'D';
}

/* Wait until the program has ended, and return its status. Kill it if it takes too long. */
static int wait_for_end(struct fetch *f)
{
	int status = 0;

	while (waitpid(f->child.pid, &status, WNOHANG) == 0) {
		struct pollfd end = { .fd = f->child.channel, .events = POLLIN };

		if (must_end_fetch(f)) {
			kill_program(f);
			return 0;
		}
		if (poll(&end, 1, LOOK_MS) > 0)
			(void)usleep(1000);
	}
	f->child.pid = 0;
	return status;
}

/* Another process removes the file, because its file system may stop answering, too. */
static void remove_unfinished(struct fetch *f)
{
	static const struct aside_bounds bounds = { .looks = 2 };
	struct aside child;
	struct error e;
	char none;

	if (!f->is_late || !f->unfinished[0] || f->is_left)
		return;

	int err = aside_start(&child, &bounds, remove_file, f->unfinished, &e);

	if (!err)
		err = aside_read(&child, &none, 1); /* until it has ended */
	if (err != -EPIPE)
		log_debug("%s is not removed", f->unfinished);
	aside_end(&child);
}

/* --- the answer --- */

/* In @text, of OUTPUT_BYTES + 1. */
static const char *last_line(const struct fetch *f, char *text)
{
	const off_t end = lseek(f->output, 0, SEEK_CUR); /* the program has this position, too */
	ssize_t n = end > 0 && end <= OUTPUT_BYTES ? pread(f->output, text, (size_t)end, 0) : 0;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';

	const char *before = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;

	return before ? before + 1 : text;
}

/* Returns 0 and the path, or the reason as a negative errno. -ENOSYS: there is no such program. */
static int read_answer(const struct fetch *f, int status, char **ret_path)
{
	cleanup_free char *text = xmalloc(OUTPUT_BYTES + 1);
	const char *line = last_line(f, text);

	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM && !line[0])
		return -ENOSYS;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && line[0] == '/') {
		*ret_path = xstrdup(line);
		return 0;
	}
	for (int i = 1; i <= MOST_ERRNO && strncmp(line, REASON, strlen(REASON)) == 0; i++) {
		const char *words = strerrordesc_np(i);

		if (words && strcmp(line + strlen(REASON), words) == 0)
			return -i;
	}
	return -EBADMSG;
}

static const char *cache_folder(void)
{
	const char *set = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (set && set[0])
		return set;
	return xdg && xdg[0] ? xdg : home ? home : "/";
}

/* Warn about the missing file. A dead server gives the same reason for each file: print it once. */
static void warn_missing_file(const struct fetch *f, int code)
{
	struct debuginfod *d = f->d;

	if (f->is_left) {
		log_warn("debuginfod: the symbols of %s did not come in time, and the process that "
			 "fetches cannot be ended: the file system of its cache may not answer; "
			 "no more are fetched",
			 f->module);
		d->may_ask = false;
	} else if (f->is_silent) {
		log_warn("debuginfod: no answer about the symbols of %s in %llu s; no symbols are "
			 "fetched in the next %llu s",
			 f->module, MOST_SILENT_NS / NS_PER_S, PAUSE_NS / NS_PER_S);
		d->ask_again = clock_ns(CLOCK_MONOTONIC) + PAUSE_NS;
	} else if (f->is_late) {
		log_warn("debuginfod: the symbols of %s did not come in time", f->module);
	} else if (code == -EFBIG || code == -EIO) {
		/* The program's words for a failed write do not give the cause. */
		log_warn("debuginfod: the symbols of %s are not taken: more than %llu MiB%s",
			 f->module, (unsigned long long)d->most_bytes >> 20,
			 code == -EIO ? ", or no room for them" : "");
	} else if (code == -ENOSYS) {
		log_warn("DEBUGINFOD_URLS is set, but the program debuginfod-find cannot be run: "
			 "symbols are not fetched (its package is debuginfod, or "
			 "elfutils-debuginfod-client)");
		d->may_ask = false;
	} else if (code == -EACCES || code == -EPERM || code == -EROFS) {
		log_warn("debuginfod: symbols are not fetched: they would be kept in %s, where "
			 "the process that fetches may not write (%s); DEBUGINFOD_CACHE_PATH may "
			 "name another folder",
			 cache_folder(), strerror(-code));
		d->may_ask = false;
	} else if (code != -ENOENT && code != d->told_error) {
		log_warn("debuginfod: no answer about the symbols of %s: %s", f->module,
			 strerror(-code));
		d->told_error = code;
	}
}

static int fetch_file(struct fetch *f, char **ret_path, struct error *e)
{
	static const struct aside_bounds none;
	uint32_t own = 0, *helper = f->d->helper ? f->d->helper : &own;
	const uint32_t former = *helper;
	cleanup_close int output = -1;
	int err = area_new(OUTPUT_BYTES, &output);

	f->output = output;
	if (err)
		return error_set(e, err, "%s: debuginfod: %s", f->module, error_words(err));
	err = aside_start(&f->child, &none, run_program, f, e);

	if (!err) {
		*helper = (uint32_t)f->child.pid;
		(void)aside_write(f->child.channel, "", 1);

		const int status = wait_for_end(f);

		*helper = former;
		err = f->is_late ? -ETIME : read_answer(f, status, ret_path);
	}
	aside_end(&f->child);
	f->d->spent_ns += clock_ns(CLOCK_MONOTONIC) - f->began;
	remove_unfinished(f);
	if (!err)
		return 0;
	warn_missing_file(f, err);
	return error_set(e, err, "%s: debuginfod: %s", f->module, strerror(-err));
}

int debuginfod_get_path(struct debuginfod *d, const uint8_t *build_id, size_t n, const char *module,
			char **ret_path, struct error *e)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!d->may_ask || n == 0 || n > MOST_BUILD_ID)
		return error_set(e, -ENOTSUP, "%s: debuginfod is not asked", module);
	if (d->spent_ns > MOST_NS_IN_ALL || now < d->ask_again || is_to_end())
		return error_set(e, -ETIME, "%s: debuginfod is asked no more", module);

	cleanup_free struct fetch *f = xcalloc(1, sizeof(*f));

	f->d = d;
	f->module = module;
	f->began = now;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(f->build_id + 2 * i, 3, "%02x", build_id[i]);
	return fetch_file(f, ret_path, e);
}
