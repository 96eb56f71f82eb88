#include "reader/perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"

/* The last of the numbers behind @key of /proc/PID/status, or the second with @is_second. */
static bool take_status(const char *status, const char *key, bool is_second, uint32_t *ret)
{
	const char *at = strstr(status, key);
	uint64_t value = 0;
	size_t n = 0;

	if (!at)
		return false;
	for (at += strlen(key); *at == '\t' || *at == ' '; n++) {
		at++;
		if (is_second && n == 2)
			break;
		if (!take_decimal(&at, &value))
			return false;
	}
	*ret = (uint32_t)value;
	return n > 0;
}

/* Field 22 of /proc/PID/stat, in ticks; the name in it may hold anything. */
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

bool process_identity_read(uint32_t pid, struct process_identity *ret)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	*ret = (struct process_identity){ .number = pid, .started = start_of(pid) };
	/* The name, in the first line, cannot hold a newline: the kernel escapes it. */
	(void)take_status(text, "\nNSpid:", false, &ret->number);
	return take_status(text, "\nUid:", true, &ret->user) && ret->number; /* 0: just gone */
}

void perf_file_path(uint32_t number, char to[PERF_FILE_PATH_BYTES])
{
	(void)snprintf(to, PERF_FILE_PATH_BYTES, "/tmp/perf-%u.map", number);
}

/* Not opened: that may block (a FIFO), or do something (a device). */
static int open_handle(int root, uint32_t number)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };
	char path[PERF_FILE_PATH_BYTES];

	perf_file_path(number, path);
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int check(const struct stat *st, uint32_t user, struct error *e)
{
	if (!S_ISREG(st->st_mode))
		return error_set(e, -EPERM, "it is not a regular file");
	if (st->st_uid != user && st->st_uid != 0)
		return error_set(e, -EPERM, "it is user %u's, and the process is user %u's",
				 st->st_uid, user);
	return 0;
}

int perf_file_open(int root, uint32_t number, uint32_t user, int *ret_fd, struct stat *ret,
		   struct error *e)
{
	cleanup_close int handle = open_handle(root, number);
	char self[64];
	int err;

	if (handle < 0 && errno == ELOOP)
		return error_set(e, -EPERM, "there is a symbolic link");
	/* ESRCH: the root directory is one of /proc, of a process that is over (browsers'
	 * sandboxes). */
	if (handle < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH))
		return error_set(e, -ENOENT, "there is none");
	if (handle < 0 || fstat(handle, ret) < 0)
		return error_set(e, -EPERM, "%s", strerror(errno));
	err = check(ret, user, e);
	if (err)
		return err;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	*ret_fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *ret_fd < 0 ? error_set(e, -EPERM, "%s", strerror(errno)) : 0;
}

bool perf_file_is(int root, uint32_t number, const struct stat *st)
{
	cleanup_close int handle = open_handle(root, number);
	struct stat now;

	return handle >= 0 && fstat(handle, &now) == 0 && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino;
}
