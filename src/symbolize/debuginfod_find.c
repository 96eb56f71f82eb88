// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 *	$ debuginfod-find debuginfo 0d1e...      $ debuginfod-find debuginfo ffff...
 *	CACHE/debuginfod_client/0d1e.../debuginfo
 *	                                         Server query failed: No such file or directory
 *
 * The path goes to its standard output, the reason to standard error. Both are one pipe here, and
 * the last line counts.
 */
#include "symbolize/debuginfod_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"

#define PROGRAM "debuginfod-find"
#define REASON "Server query failed: "
#define LOOK_MS 50
#define MOST_READS 64

/* Linux gives numbers up to 133 (EHWPOISON). */
#define MOST_ERRNO 133

/* Descriptors that the program may have, to look for its unfinished file. */
#define MOST_DESCRIPTORS 64

struct run {
	pid_t pid;
	int pipe; /* its output; -1: all of it was read */
	size_t n; /* bytes of it in @output: the last of them */
	char output[2 * PATH_MAX];
	char unfinished[PATH_MAX]; /* file that it was writing when it was ended; "": none */
};

/* Messages in English, and no others between them. To free. */
static char **environment(void)
{
	static const char *const left_out[] = { "LC_ALL=", "DEBUGINFOD_VERBOSE=",
						"DEBUGINFOD_PROGRESS=" };
	static char c_locale[] = "LC_ALL=C";
	size_t n = 0;

	while (environ[n])
		n++;

	char **ret = xcalloc(n + 2, sizeof(*ret));
	size_t kept = 0;

	ret[kept++] = c_locale;
	for (size_t i = 0; i < n; i++) {
		bool is_kept = true;

		for (size_t k = 0; k < ARRAY_SIZE(left_out); k++)
			if (strncmp(environ[i], left_out[k], strlen(left_out[k])) == 0)
				is_kept = false;
		if (is_kept)
			ret[kept++] = environ[i];
	}
	return ret;
}

/*
 * A write beyond RLIMIT_FSIZE is to fail, not to kill: the program then removes its unfinished
 * file. So SIGXFSZ stays blocked; those that end our run are for us to pass on.
 */
static void set_signals(posix_spawnattr_t *attributes)
{
	sigset_t blocked, reset;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGXFSZ);
	(void)sigaddset(&blocked, SIGINT);
	(void)sigemptyset(&reset);
	(void)sigaddset(&reset, SIGPIPE);
	(void)posix_spawnattr_setsigmask(attributes, &blocked);
	(void)posix_spawnattr_setsigdefault(attributes, &reset);
	(void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* Returns 0 or a negative errno. */
static int start(struct run *r, char *hex)
{
	char program[] = PROGRAM, what[] = "debuginfo";
	char *const argv[] = { program, what, hex, NULL };
	cleanup_free char **env = environment();
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
	(void)posix_spawnattr_init(&attributes);
	set_signals(&attributes);

	int err = posix_spawnp(&r->pid, program, &files, &attributes, argv, env);

	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)close(ends[1]);
	r->pipe = ends[0];
	if (err)
		cleanup_close_fd(&r->pipe);
	return -err;
}

/* The output may have no end: this reads some of it, and keeps the last. */
static void read_output(struct run *r)
{
	const size_t half = sizeof(r->output) / 2;
	ssize_t n;

	for (int i = 0; i < MOST_READS && r->pipe >= 0; i++) {
		if (r->n > half) {
			memmove(r->output, r->output + r->n - half, half);
			r->n = half;
		}
		n = read(r->pipe, r->output + r->n, sizeof(r->output) - 1 - r->n);
		if (n > 0)
			r->n += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			cleanup_close_fd(&r->pipe);
	}
}

/* CACHE/BUILDID/debuginfo.SUFFIX, until the file is whole; the suffix is mkstemp's. */
static void note_unfinished(struct run *r, const char *hex)
{
	char pattern[PATH_MAX], link[64], path[PATH_MAX];

	(void)snprintf(pattern, sizeof(pattern), "/%s/debuginfo.", hex);
	for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", r->pid, fd);

		ssize_t n = readlink(link, path, sizeof(path) - 1);

		path[n > 0 ? n : 0] = '\0';
		if (strstr(path, pattern))
			memcpy(r->unfinished, path, (size_t)n + 1);
	}
}

static int wait_for_end(struct run *r, const char *hex, debuginfod_is_enough *is_enough,
			void *argument)
{
	bool is_ended = false;
	int status = 0;

	while (waitpid(r->pid, &status, WNOHANG) == 0) {
		struct pollfd output = { .fd = r->pipe, .events = POLLIN };

		if (!is_ended && is_enough(argument)) {
			note_unfinished(r, hex);
			(void)kill(r->pid, SIGKILL);
			is_ended = true;
		}
		(void)poll(&output, 1, r->pipe < 0 || is_ended ? 1 : LOOK_MS);
		read_output(r);
	}
	read_output(r);
	cleanup_close_fd(&r->pipe);
	if (r->unfinished[0])
		(void)unlink(r->unfinished);
	return status;
}

static const char *last_line(struct run *r)
{
	while (r->n && r->output[r->n - 1] == '\n')
		r->n--;
	r->output[r->n] = '\0';

	const char *end = memrchr(r->output, '\n', r->n);

	return end ? end + 1 : r->output;
}

static int reason(const char *line)
{
	if (strncmp(line, REASON, strlen(REASON)) != 0)
		return -EBADMSG;
	for (int i = 1; i <= MOST_ERRNO; i++) {
		const char *words = strerrordesc_np(i);

		if (words && strcmp(line + strlen(REASON), words) == 0)
			return i == EIO ? -EFBIG : -i; /* its word for a write that failed */
	}
	return -EBADMSG;
}

static int open_answer(const char *path)
{
	struct stat st;
	cleanup_close int fd =
		path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADMSG;
	return TAKE_FD(fd);
}

int debuginfod_find(const uint8_t *build_id, size_t n, debuginfod_is_enough *is_enough,
		    void *argument, char **path)
{
	cleanup_free struct run *r = xcalloc(1, sizeof(*r));
	cleanup_free char *hex = xcalloc(2 * n + 1, 1);

	for (size_t i = 0; i < n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", build_id[i]);

	int err = start(r, hex);

	if (err)
		return err == -ENOENT ? -ENOSYS : err;

	int status = wait_for_end(r, hex, is_enough, argument);
	const char *line = last_line(r);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return reason(line);
	*path = xstrdup(line);
	return open_answer(line);
}
