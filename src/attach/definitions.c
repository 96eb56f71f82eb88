// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lines in uprobe_events, one for each place. Lines of one name are one event:
 *
 *	p:stackcount_4711_5f2c09d1/e0 /usr/lib/libc.so.6:0x28f90
 *	p:stackcount_4711_5f2c09d1/e0 /usr/lib/libc.so.6:0x29010(0x1e2c04)
 *	-:stackcount_4711_5f2c09d1/e0
 *
 * A definition is no descriptor: it stays until it is removed, and cannot be removed while it is in
 * use. So we make a process before the first definition. It waits for the end of a pipe whose other
 * end we hold, and then removes the rest.
 */
#include "attach/definitions.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/orphan.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"

#define LONGEST_PATH 1024 /* of the 4,094 characters that a line may have */

struct definitions {
	int tracefs;
	int file;   /* uprobe_events */
	int ended;  /* for the other process: readable when all our descriptors are closed */
	int signal; /* the pipe; it ends with us */
	char group[48];
	pid_t remover;
	unsigned n; /* complete events; also the number of the current one */
	/* The last path with special characters, and its file. */
	char *target_path;
	int target;
};

/* Append only: opening it for plain writing would remove the events of all users. */
static int open_uprobe_events(int tracefs)
{
	return openat(tracefs, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
}

static int write_definition(int file, const char *line, int n)
{
	if (n < 0)
		return -EINVAL;

	ssize_t written = write(file, line, (size_t)n);

	if (written < 0)
		return -errno;
	return written == n ? 0 : -EIO;
}

static int remove_definition(const struct definitions *d, unsigned number)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "-:%s/e%u\n", d->group, number);

	return write_definition(d->file, line, n);
}

/* In the other process: wait until we end, and until the kernel has closed our descriptors. */
static void remove_rest(void *data)
{
	const struct definitions *d = data;
	struct pollfd ends[] = { { .fd = d->ended, .events = POLLIN },
				 { .fd = d->signal, .events = POLLIN } };
	char byte;

	/*
	 * A process shows its end by the pidfd when its descriptors are closed. The pipe ends
	 * somewhere before that. The kernel would remove an event of several places that is in use,
	 * and then access its freed memory.
	 */
	(void)poll(ends, 2, -1);
	if (ends[1].revents & POLLIN && read(d->signal, &byte, 1) == 1)
		return; /* we have removed all */
	(void)poll(ends, 1, -1);
	for (unsigned i = 0;; i++) {
		int code = remove_definition(d, i);

		if (code && code != -EBUSY)
			return; /* there are no more */
	}
}

static bool start_remover(struct definitions *d)
{
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return false;

	cleanup_close int reader = pipe_fds[0];
	cleanup_close int writer = pipe_fds[1];
	cleanup_close int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	const int kept[] = { d->file, reader, self };

	if (self < 0)
		return false;
	d->ended = self;

	d->signal = reader;
	d->remover = orphan_start(kept, ARRAY_SIZE(kept), remove_rest, d, "removing");
	d->signal = d->remover ? TAKE_FD(writer) : -1;
	return d->remover != 0;
}

struct definitions *definitions_open(int tracefs)
{
	cleanup_close int file = open_uprobe_events(tracefs);
	uint32_t mark; /* PIDs are unique in their namespace only */

	if (file < 0 || getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
		return NULL;

	struct definitions *d = xcalloc(1, sizeof(*d));
	*d = (struct definitions){ .tracefs = tracefs, .file = file, .target = -1 };
	(void)snprintf(d->group, sizeof(d->group), "stackcount_%d_%08x", (int)getpid(), mark);
	if (!start_remover(d)) {
		free(d);
		return NULL;
	}
	(void)TAKE_FD(file);
	return d;
}

void definitions_descriptors(const struct definitions *d, int ret[DEFINITIONS_DESCRIPTORS])
{
	ret[0] = d->file;
	ret[1] = d->target;
}

pid_t definitions_helper(const struct definitions *d)
{
	return d->remover;
}

void definitions_free(struct definitions *d)
{
	if (!d)
		return;
	/*
	 * The last one first: the other process begins with the first, and stops at a missing one.
	 */
	for (unsigned i = d->n + 1; i-- > 0;)
		(void)remove_definition(d, i);
	cleanup_close_fd(&d->target);
	free(d->target_path);
	close(d->file);
	(void)!write(d->signal, "", 1);
	close(d->signal);
	free(d);
}

/* Does the kernel read @path back from a line? It divides a line at spaces of Latin-1. */
static bool is_plain_path(const char *path)
{
	size_t n = 0;

	for (; path[n]; n++) {
		if (path[n] <= ' ' || path[n] > '~' || strchr("#:%\"\\", path[n]))
			return false;
	}
	return n <= LONGEST_PATH;
}

/* Put a plain name for @path into @to. It is valid until the next call. */
static int name_hostile(struct definitions *d, const char *path, char to[32])
{
	if (d->target < 0 || strcmp(d->target_path, path) != 0) {
		cleanup_close_fd(&d->target);
		cleanup_free_p(&d->target_path);
		d->target = open(path, O_PATH | O_CLOEXEC);
		d->target_path = xstrdup(path);
	}
	if (d->target < 0)
		return -errno;
	(void)snprintf(to, 32, "/proc/self/fd/%d", d->target);
	return 0;
}

int definitions_add(struct definitions *d, const char *path, uint64_t offset, uint64_t semaphore)
{
	char line[LONGEST_PATH + 160], name[32], counter[24] = "";

	if (!is_plain_path(path)) {
		int err = name_hostile(d, path, name);

		if (err)
			return err;
		path = name;
	}
	if (semaphore)
		(void)snprintf(counter, sizeof(counter), "(0x%llx)", (unsigned long long)semaphore);

	int n = snprintf(line, sizeof(line), "p:%s/e%u %s:0x%llx%s\n", d->group, d->n, path,
			 (unsigned long long)offset, counter);

	return write_definition(d->file, line, n);
}

int definitions_id(const struct definitions *d, uint64_t *ret)
{
	char path[80], text[32] = "";

	(void)snprintf(path, sizeof(path), "events/%s/e%u/id", d->group, d->n);

	cleanup_close int fd = openat(d->tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	*ret = strtoull(text, NULL, 10);
	return *ret ? 0 : -EIO;
}

void definitions_keep(struct definitions *d)
{
	d->n++;
}

void definitions_drop(struct definitions *d)
{
	/* If somebody else uses the event, its name stays taken. */
	if (remove_definition(d, d->n) == -EBUSY)
		d->n++;
}

unsigned definitions_n(const struct definitions *d)
{
	return d->n;
}

void definitions_set_n(struct definitions *d, unsigned n)
{
	d->n = n;
}
