// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/aside.h"
#include "base/cleanup.h"

/* The bound of tool/matcher.c: the file system has 5 s to answer. */
static const struct aside_bounds bounds = { .looks = 50 };

#define MOST_ERRNO 4095
#define HEAD_BYTES 256 /* read by the kernel to find a program's format */

/* -- In the process. -- */

/*
 * The kernel reads these bytes at exec. By then, Ctrl-C should end the run with a report, so a file
 * system that does not answer must show now.
 */
static void read_program_head(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char head[HEAD_BYTES];

	if (fd >= 0)
		(void)!pread(fd, head, sizeof(head), 0);
}

/* False: errno has the reason. */
static bool is_executable_file(const char *path)
{
	struct stat st;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0)
		return false;
	errno = EISDIR;
	if (S_ISREG(st.st_mode))
		read_program_head(path);
	return !S_ISDIR(st.st_mode);
}

/* 0, or a positive errno. */
static int find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	int why = ENOENT;

	if (strchr(name, '/'))
		return is_executable_file(name) ? 0 : errno;
	for (path = path ? path : "/bin:/usr/bin"; *path; path += strspn(path, ":")) {
		char file[PATH_MAX];
		int n = (int)strcspn(path, ":");

		(void)snprintf(file, sizeof(file), "%.*s/%s", n, path, name);
		if (is_executable_file(file))
			return 0;
		if (errno == EACCES)
			why = EACCES;
		path += n;
	}
	return why;
}

static void find_program_in_process(void *argument, int channel)
{
	int why;

	aside_close_others(&channel);
	why = find_in_path(argument);
	(void)aside_write(channel, &why, sizeof(why));
}

/* -- The main process. -- */

int program_check(const char *name, const char *shown, struct error *e)
{
	cleanup(aside_end) struct aside a = ASIDE_NONE;
	cleanup_free char *own = xstrdup(name);
	cleanup_free char *called = xasprintf("command '%s'", shown);
	int why = 0;
	int err = aside_start(&a, &bounds, find_program_in_process, own, e);

	if (err)
		return err;
	err = aside_read(&a, &why, sizeof(why));
	if (err)
		return aside_explain(&a, err, called, e);
	if (!why)
		return 0;
	errno = why > 0 && why <= MOST_ERRNO ? why : EINVAL;
	return error_errno(e, "%s", called);
}
