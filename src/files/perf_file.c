// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"

/*
 * Field 22 of /proc/PID/stat, in ticks. The search begins after the name, which may hold any
 * character.
 */
static uint64_t start_of(uint32_t pid)
{
	char path[64], text[1024];
	uint64_t ticks;
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	at++;
	return take_decimal(&at, &ticks) ? ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

/* The name, in the first line, cannot hold a newline: the kernel escapes it. */
bool process_identity_read(uint32_t pid, struct process_identity *ret)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;

	const char *user = strstr(text, "\nUid:"), *number = strstr(text, "\nNSpid:");

	*ret = (struct process_identity){ .number = pid, .started = start_of(pid) };
	if (number) { /* the last one of the line is of the innermost namespace */
		const size_t n = strcspn(number + 1, "\n");
		const char *last = memrchr(number + 1, '\t', n);

		ret->number = last ? (uint32_t)strtoul(last, NULL, 10) : 0;
	}
	return user && sscanf(user, " Uid: %*u %u", &ret->user) == 1 && ret->number; /* 0: gone */
}

void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES])
{
	(void)snprintf(to, PERF_FILE_PATH_BYTES, "/tmp/perf-%u.map", number);
}

/* O_PATH does not open the file, which could block (a FIFO) or have an effect (a device). */
static int open_perf_handle(int root, uint32_t number)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };
	char path[PERF_FILE_PATH_BYTES];

	perf_file_path(number, path);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int check_perf_file(const struct stat *st, uint32_t user, struct error *e)
{
	if (!S_ISREG(st->st_mode))
		return error_set(e, -EPERM, "it is not a regular file");
	if (st->st_uid != user && st->st_uid != 0)
		return error_set(e, -EPERM, "it is user %u's, and the process is user %u's",
				 st->st_uid, user);
	return 0;
}

int perf_file_find(int root, uint32_t number, uint32_t user, int *ret_handle, struct stat *ret,
		   struct error *e)
{
	cleanup_close int handle = open_perf_handle(root, number);
	int err;

	if (handle < 0 && errno == ELOOP)
		return error_set(e, -EPERM, "there is a symbolic link");
	/*
	 * With ESRCH, the root directory belongs to /proc of a process that has ended (browsers'
	 * sandboxes).
	 */
	if (handle < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH))
		return error_set(e, -ENOENT, "there is none");
	if (handle < 0 || fstat(handle, ret) < 0)
		return error_set(e, -EPERM, "%s", strerror(errno));
	err = check_perf_file(ret, user, e);
	if (!err)
		*ret_handle = TAKE_FD(handle);
	return err;
}
