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

/* seq_file gives a page or less at a time, so a larger buffer would only be cold memory. */
#define BLOCK_BYTES 65536

void lines_init(struct lines *l, int fd, const char *name)
{
	*l = (struct lines){ .fd = fd, .name = name, .text = xmalloc(BLOCK_BYTES + 1) };
}

void lines_fini(struct lines *l)
{
	free(l->text);
	*l = (struct lines){};
}

/* Move the remaining bytes to the front and read more after them. */
static int fill_lines(struct lines *l, struct error *e)
{
	memmove(l->text, l->text + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;
	if (l->end == BLOCK_BYTES) { /* the buffer has one line, without its end */
		l->is_skipping = true;
		l->end = 0;
	}

	ssize_t n;

	do
		n = read(l->fd, l->text + l->end, BLOCK_BYTES - l->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(e, "read %s", l->name);
	l->is_over = n == 0;
	l->end += (size_t)n;
	return 0;
}

int lines_next(struct lines *l, char **ret, struct error *e)
{
	for (;;) {
		char *line = l->text + l->at, *end = memchr(line, '\n', l->end - l->at);
		const bool is_whole = !l->is_skipping;

		if (!end && !l->is_over) {
			const int err = fill_lines(l, e);

			if (err)
				return err;
			continue;
		}
		if (l->at == l->end)
			return 0;
		if (!end)
			end = l->text + l->end;
		l->at = (size_t)(end - l->text) + (end < l->text + l->end);
		l->is_skipping = false;
		*end = '\0';
		*ret = line;
		if (is_whole)
			return 1;
	}
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
