/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/link.h - the system calls that attach. They return a descriptor or the kernel's negative
 * errno. attach_all() finds the words for it.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Open a perf event for process @pid; -1: for all processes. */
must_check int link_open_event(const struct perf_event_attr *attr, int pid);
/* Likewise, for all processes on one CPU. */
must_check int link_open_event_on(const struct perf_event_attr *attr, uint32_t cpu);

/* Have @event_fd run the program, with a cookie (0: none). */
must_check int link_to_event(int event_fd, int prog_fd, uint64_t cookie);

/* The places of a multi link: parallel arrays of @n. */
struct link_places {
	const uint64_t *places;     /* addresses, or offsets in the file; NULL: use @symbols */
	const char *const *symbols; /* NULL: use @places */
	const uint64_t *semaphores; /* may be NULL */
	const uint64_t *cookies;    /* may be NULL */
	size_t n;
};

/* @is_return: the program runs at the functions' returns, not at their entries. */
must_check int link_kprobe_multi(int prog_fd, const struct link_places *to, bool is_return);

/* @pid 0: every process. */
must_check int link_uprobe_multi(int prog_fd, const char *path, const struct link_places *to,
				 uint32_t pid);

/* Hits missed at a link, as far as the kernel counts them; else 0. */
uint64_t link_missed(int link_fd);
