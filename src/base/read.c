// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* By itself, stdio would read 1 KiB at a time. */
#define BLOCK_BYTES 65536

void lines_init(struct lines *l, int fd, const char *name)
{
	*l = (struct lines){ .file = memory_or_exit(fdopen(fd, "r")),
			     .name = name,
			     .buffer = xmalloc(BLOCK_BYTES) };
	(void)setvbuf(l->file, l->buffer, _IOFBF, BLOCK_BYTES);
}

void lines_fini(struct lines *l)
{
	cleanup_fclose_p(&l->file);
	free(l->buffer);
	free(l->text);
	*l = (struct lines){};
}

int lines_next(struct lines *l, char **ret, struct error *e)
{
	const ssize_t n = getline(&l->text, &l->capacity, l->file);

	if (n <= 0)
		return ferror(l->file) ? error_errno(e, "read %s", l->name) : 0;
	if (l->text[n - 1] == '\n')
		l->text[n - 1] = '\0';
	*ret = l->text;
	return 1;
}

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
