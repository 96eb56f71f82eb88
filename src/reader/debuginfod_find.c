// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 *	$ debuginfod-find debuginfo 0d1e...      $ debuginfod-find debuginfo ffff...
 *	CACHE/debuginfod_client/0d1e.../debuginfo
 *	                                         Server query failed: No such file or directory
 *
 * The program prints the path to its standard output, and the reason for a failure to standard
 * error. Here both are one pipe, and the last line counts. The library's answer has the same form
 * (debuginfod_library.h).
 */
#include "reader/debuginfod_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/aside.h"
#include "base/cleanup.h"
#include "base/read.h"
#include "helper/sandbox.h"
#include "reader/debuginfod_library.h"

#define PROGRAM "debuginfod-find"
#define LOOK_MS 50
#define LAST_LOOKS 100 /* of 1 ms each, at a process that should end */
#define MOST_READS 64
#define NO_PROGRAM 127 /* exit status, as shells have it */

/* Linux has numbers up to 133 (EHWPOISON). */
#define MOST_ERRNO 133

/* Descriptors to search for the program's unfinished file. */
#define MOST_DESCRIPTORS 64

struct run {
	pid_t pid;
	uint32_t *helper, former; /* of the question; its value at other times */
	int pipe;                 /* its output; -1: read to the end */
	long done, all;           /* bytes, by the last DEBUGINFOD_PROGRESS line */
	size_t n;                 /* bytes in @output: the last of the output */
	char output[2 * PATH_MAX];
	char unfinished[PATH_MAX]; /* its unfinished file; "": none; or the file to remove */
};

/* English messages, and no progress lines between them. */
static void set_environment(void)
{
	(void)setenv("LC_ALL", "C", 1);
	(void)unsetenv("DEBUGINFOD_VERBOSE");
	(void)unsetenv("DEBUGINFOD_PROGRESS");
}

/*
 * A write beyond RLIMIT_FSIZE must fail, not kill, so that the library removes its unfinished file.
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

/* Print the reason as the library does. */
__attribute__((noreturn)) static void give_up(int err)
{
	(void)dprintf(STDOUT_FILENO, DEBUGINFOD_REASON "%s\n", strerrordesc_np(-err));
	_exit(1);
}

/* Keep only the main process's environment, its user and a pipe to it. */
static void become_fetcher(const struct debuginfod_question *q, int output, pid_t parent)
{
	const struct rlimit most = { q->most_bytes, q->most_bytes };
	const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint32_t layers;
	struct error e;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "file-fetcher");
	if (getppid() != parent || dup2(input, STDIN_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(1);
	closefrom(STDERR_FILENO + 1);
	(void)setrlimit(RLIMIT_FSIZE, &most);

	const int err = sandbox_enter(SANDBOX_FETCHER, &layers, &e);

	if (err)
		give_up(err);
}

__attribute__((noreturn)) static void ask(const struct debuginfod_question *q, char *hex)
{
	char program[] = PROGRAM, what[] = "debuginfo";
	char *const argv[] = { program, what, hex, NULL };

	set_environment();
	block_fetcher_signals();
	debuginfod_library_print_cache();

	const int status = debuginfod_library_ask(q->build_id, q->n, q->most_bytes);

	if (status >= 0)
		_exit(status);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execvp(program, argv);
	_exit(errno == ENOENT ? NO_PROGRAM : 1);
}

static int open_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

/* Wait until the main process knows our PID. Until then our hits count as another process's. */
static void wait_for_begin(int begin)
{
	char none;

	while (read(begin, &none, 1) < 0 && errno == EINTR)
		;
}

/* Start the process, which ends with us. Returns 0 or a negative errno. */
static int start_fetch(struct run *r, const struct debuginfod_question *q, char *hex)
{
	const pid_t parent = getpid();
	cleanup_close int output = -1, begin = -1, begin_of_child = -1;

	r->pipe = -1;
	if (open_pipe(&r->pipe, &output) < 0 || open_pipe(&begin_of_child, &begin) < 0)
		return -errno;
	(void)fcntl(r->pipe, F_SETFL, O_NONBLOCK);
	r->pid = fork();
	if (r->pid == 0) {
		cleanup_close_fd(&begin);
		wait_for_begin(begin_of_child);
		become_fetcher(q, output, parent);
		if (r->unfinished[0])
			_exit(unlink(r->unfinished) < 0);
		ask(q, hex);
	}
	if (r->pid < 0)
		return -errno;
	r->helper = q->helper;
	if (r->helper) {
		r->former = *r->helper;
		*r->helper = (uint32_t)r->pid;
	}
	return 0;
}

/* Read some of the output, which may be endless. Keep its last bytes. */
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

/*
 * The unfinished file is CACHE/BUILDID/debuginfo.SUFFIX. mkstemp(3) makes the suffix. Returns its
 * descriptor, and copies its path to @path. -1: there is none.
 */
static int find_unfinished(const struct run *r, const char *hex, char path[PATH_MAX])
{
	char pattern[PATH_MAX], link[64];

	(void)snprintf(pattern, sizeof(pattern), "/%s/debuginfo.", hex);
	for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", r->pid, fd);

		const ssize_t n = readlink(link, path, PATH_MAX - 1);

		path[n > 0 ? n : 0] = '\0';
		if (strstr(path, pattern))
			return fd;
	}
	path[0] = '\0';
	return -1;
}

/* The position in the unfinished file. This asks nothing of its file system, which may hang. */
static long bytes_received(const struct run *r, const char *hex)
{
	char path[PATH_MAX], text[256];
	const int fd = find_unfinished(r, hex, path);
	long bytes = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", r->pid, fd);
	if (fd >= 0 && read_small(AT_FDCWD, path, text, sizeof(text)) >= 0)
		(void)sscanf(text, "pos: %ld", &bytes);
	return bytes;
}

/*
 * Before the library knows the size, it counts its own steps. The program counts nothing. So then
 * the file tells whether bytes come.
 */
static void note_progress(struct run *r, const char *hex)
{
	r->output[r->n] = '\0';
	for (const char *at = r->output; (at = strstr(at, DEBUGINFOD_PROGRESS)); at++)
		(void)sscanf(at, DEBUGINFOD_PROGRESS "%ld %ld", &r->done, &r->all);
	if (r->all <= 0 && hex)
		r->done = bytes_received(r, hex);
}

/* The caller's part of the wait. */
struct watch {
	debuginfod_is_enough *is_enough;
	void *argument;
};

/*
 * Wait until the process has ended, and kill it when the caller has had enough. False: it was
 * killed and has not ended, so it hangs in a file system that does not answer. With @is_last it
 * should end soon, and is not killed.
 */
static bool wait_for_end(struct run *r, const char *hex, const struct watch *w, bool is_last,
			 int *ret_status)
{
	int n_looks = is_last;

	*ret_status = 0;
	while (waitpid(r->pid, ret_status, WNOHANG) == 0) {
		struct pollfd output = { .fd = r->pipe, .events = POLLIN };

		if (n_looks > LAST_LOOKS && !process_is_in_state(r->pid, 'R'))
			return false;
		note_progress(r, hex);
		if (w->is_enough(w->argument, r->done, r->all) && !n_looks) {
			(void)find_unfinished(r, hex, r->unfinished);
			(void)kill(r->pid, SIGKILL);
			n_looks = 1;
		}
		n_looks += n_looks > 0;
		(void)poll(&output, 1, r->pipe < 0 || n_looks ? 1 : LOOK_MS);
		read_output(r);
	}
	read_output(r);
	return true;
}

static void end_fetch(struct run *r)
{
	if (r->helper)
		*r->helper = r->former;
	r->helper = NULL;
	cleanup_close_fd(&r->pipe);
}

/* Another process removes the file, because its file system may stop answering, too. */
static void remove_unfinished(const char *path, const struct debuginfod_question *q,
			      const struct watch *w)
{
	cleanup_free struct run *r = xcalloc(1, sizeof(*r));
	int status;

	(void)snprintf(r->unfinished, sizeof(r->unfinished), "%s", path);
	if (start_fetch(r, q, NULL) == 0 && !wait_for_end(r, NULL, w, true, &status))
		(void)kill(r->pid, SIGKILL);
	end_fetch(r);
}

static const char *last_line(struct run *r)
{
	while (r->n && r->output[r->n - 1] == '\n')
		r->n--;
	r->output[r->n] = '\0';

	const char *end = memrchr(r->output, '\n', r->n);

	return end ? end + 1 : r->output;
}

/* Returns the rest of the last line with @mark, which the caller frees. NULL: there is none. */
static char *last_marked_line(const struct run *r, const char *mark)
{
	const char *found = NULL;

	for (const char *at = r->output; (at = strstr(at, mark)); at++)
		found = at + strlen(mark);
	return found ? xstrndup(found, strcspn(found, "\n")) : NULL;
}

static int errno_of_reason(int status, const char *line)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM && !line[0])
		return -ENOSYS;
	if (strncmp(line, DEBUGINFOD_REASON, strlen(DEBUGINFOD_REASON)) != 0)
		return -EBADMSG;
	for (int i = 1; i <= MOST_ERRNO; i++) {
		const char *words = strerrordesc_np(i);

		if (words && strcmp(line + strlen(DEBUGINFOD_REASON), words) == 0)
			return -i;
	}
	return -EBADMSG;
}

int debuginfod_find(const struct debuginfod_question *q, debuginfod_is_enough *is_enough,
		    void *argument, struct debuginfod_answer *ret)
{
	cleanup_free struct run *r = xcalloc(1, sizeof(*r));
	cleanup_free char *hex = xcalloc(2 * q->n + 1, 1);

	*ret = (struct debuginfod_answer){ 0 };
	for (size_t i = 0; i < q->n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", q->build_id[i]);

	const struct watch w = { is_enough, argument };
	int status;
	int err = start_fetch(r, q, hex);

	ret->is_left = !err && !wait_for_end(r, hex, &w, false, &status);
	end_fetch(r);
	if (err || ret->is_left)
		return err ? err : -ETIMEDOUT;
	if (r->unfinished[0])
		remove_unfinished(r->unfinished, q, &w);

	const char *line = last_line(r);

	ret->closed_cache = last_marked_line(r, DEBUGINFOD_CACHE);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return errno_of_reason(status, line);
	if (line[0] != '/')
		return -EBADMSG;
	ret->path = xstrdup(line);
	ret->source = last_marked_line(r, DEBUGINFOD_FROM);
	if (!ret->source)
		ret->source = xstrdup(line);
	return 0;
}

void debuginfod_answer_fini(struct debuginfod_answer *answer)
{
	free(answer->path);
	free(answer->source);
	free(answer->closed_cache);
	*answer = (struct debuginfod_answer){ 0 };
}
