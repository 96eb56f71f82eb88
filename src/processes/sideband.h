/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/sideband.h - perf's side-band records of all CPUs, as one stream of events in the order
 * of time. They report forks, execs, mappings, names and ends of all processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "reader/mappings.h"

enum process_event_type {
	PROCESS_FORK,  /* a new process; a new thread of it if @pid is @parent_pid */
	PROCESS_SHARE, /* the process that thread @tid made last shares the maker's memory */
	PROCESS_EXEC,  /* another program; all former mappings have gone */
	PROCESS_COMM,  /* thread @tid has a new name */
	PROCESS_MAP,   /* a new executable mapping, or a protection made executable; it replaces
			  mappings that it overlaps */
	PROCESS_EXIT,  /* thread @tid has ended */
	PROCESS_LOST,  /* events are missing */
};

/*
 * PIDs are those of our PID namespace, and paths those that the process itself sees. The stream
 * leaves out processes without a PID in our namespace; such a parent is 0.
 *
 * The kernel reports neither munmap(2) nor mremap(2), nor earlier mappings. The child of a fork has
 * its parent's mappings. A process's first thread may end before the others. The process has ended
 * for certain when its PID comes again in a FORK.
 */
struct process_event {
	enum process_event_type type;
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid; /* FORK */
	uint64_t time;                   /* ns of CLOCK_MONOTONIC, as bpf_ktime_get_ns() */
	const char *comm;                /* EXEC, COMM */

	/* MAP. A file whose path the kernel could not make is "[path too long]", with no inode. */
	struct mapping map;
	const uint8_t *build_id;
	size_t n_build_id; /* at most 20; 0: none, or not at hand for the kernel */

	/* LOST: number of records of one CPU (0: unknown), lost after @since and until @time. */
	uint64_t n_lost;
	uint64_t since;
};

struct sideband_options {
	uint32_t ring_bytes; /* for each CPU, a power of two; 0: by the number of CPUs */
	uint64_t birth;      /* id of tracepoint task:task_newtask; 0: none, and no SHARE events */
};

struct sideband;

/*
 * Follow all processes from now on. If the user may not lock so much memory, rings are smaller.
 *
 * Errors: -EACCES, -EPERM  the message names the missing permission
 *         -ENOMEM          the user may not lock even the smallest rings
 *         -EMFILE          each CPU needs three descriptors
 *         others           of perf_event_open(2), mmap(2) and epoll
 */
must_check int sideband_open(const struct sideband_options *options, struct sideband **ret,
			     struct error *e);
void sideband_close(struct sideband *s);

/*
 * A descriptor that is readable while a quarter of a ring is full, until sideband_read(). Call
 * sideband_read() once after you add it to an epoll set. @s lends it.
 */
int sideband_fd(const struct sideband *s);

/* Takes one event, borrowed during the call. A non-zero result ends sideband_read(). */
typedef int sideband_visit(void *context, const struct process_event *event);

/*
 * Pass all events from before this call to @visit. They come in the order of time. At least the
 * events of one process do, and its parent's come before the fork. Once a second, also looks for
 * CPUs that have come or gone. Returns 0, or the result of @visit that ended it; the events up to
 * that one are used up.
 */
int sideband_read(struct sideband *s, sideband_visit *visit, void *context);

/*
 * Give up all records that wait, because nobody has the time to read them. @visit gets a
 * PROCESS_LOST in their place, if there are any.
 */
void sideband_drop(struct sideband *s, sideband_visit *visit, void *context);

/* The time up to which all events have been passed on. */
uint64_t sideband_until(const struct sideband *s);
