/*
 * attach/link.h - the system calls that attach. They return a descriptor or the kernel's
 * negative errno, which attach_all() puts into words.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* For the process @pid, or every process with -1. */
must_check int link_open_event(const struct perf_event_attr *attr, int pid);

/*
 * Have @event_fd run the program: by a link, with a cookie (0: none), or (returning 0) until the
 * event is closed.
 */
must_check int link_to_event(int event_fd, int prog_fd, uint64_t cookie);
must_check int link_set_program(int event_fd, int prog_fd);

/* Where a multi link goes; parallel arrays of @n. */
struct link_places {
	const uint64_t *places;     /* addresses, or offsets in the file; NULL: by @symbols */
	const char *const *symbols; /* NULL: by @places */
	const uint64_t *semaphores; /* may be NULL */
	const uint64_t *cookies;    /* may be NULL */
	size_t n;
};

must_check int link_kprobe_multi(int prog_fd, const struct link_places *to);

/* @pid 0: every process. */
must_check int link_uprobe_multi(int prog_fd, const char *path, const struct link_places *to,
				 uint32_t pid);

/* Hits missed at a link, as far as the kernel counts them. */
uint64_t link_missed(int link_fd);
