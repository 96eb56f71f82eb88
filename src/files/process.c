// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the main process itself reads of others' /proc. It asks no file system. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/read.h"
#include "files/files.h"

#define STATUS_BYTES 4096

/* The name, in the first line, cannot hold a newline: the kernel escapes it. */
static bool read_status(uint32_t pid, char to[STATUS_BYTES])
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return read_small(AT_FDCWD, path, to, STATUS_BYTES) >= 0;
}

uint32_t process_user(uint32_t pid)
{
	char text[STATUS_BYTES];
	const char *line;

	if (!read_status(pid, text))
		return 0;
	line = strstr(text, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : 0;
}

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

bool process_identity_read(uint32_t pid, struct process_identity *ret)
{
	char text[STATUS_BYTES];

	if (!read_status(pid, text))
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

/* Uses the kernel's cached data, because the file system may not answer. */
static bool identify(uint32_t pid, const char *name, uint64_t *ret_dev, uint64_t *ret_inode)
{
	struct statx st;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) < 0)
		return false;
	*ret_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_inode = st.stx_ino;
	return true;
}

bool root_identity_read(uint32_t pid, struct root_identity *ret)
{
	uint64_t unused;

	return identify(pid, "ns/mnt", &unused, &ret->namespace) &&
	       identify(pid, "root", &ret->dev, &ret->inode);
}
