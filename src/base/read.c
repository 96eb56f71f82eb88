// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

ssize_t read_small(int dir_fd, const char *path, char *to, size_t size)
{
	cleanup_close int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -1;
	while (n < size - 1) {
		ssize_t got = read(fd, to + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	if (n && to[n - 1] == '\n')
		n--;
	to[n] = '\0';
	return (ssize_t)n;
}

/* "4711 (name) R ..." */
int process_state(pid_t pid)
{
	char path[32], stat[256];
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_small(AT_FDCWD, path, stat, sizeof(stat)) < 0)
		return 0;
	name_end = strrchr(stat, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

uint64_t read_enabled_ns(int event_fd)
{
	uint64_t now[3];

	return read(event_fd, now, sizeof(now)) >= (ssize_t)(2 * sizeof(*now)) ? now[1] : 0;
}
