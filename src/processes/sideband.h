/*
 * processes/sideband.h - what processes do, told by the kernel as it happens: perf's side-band
 * records of every CPU, as one stream of events in the order of time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "reader/mappings.h"

enum process_event_type {
	PROCESS_FORK,  /* a new process; a new thread of it when @pid is @parent_pid */
	PROCESS_SHARE, /* the process that thread @tid made last has the memory of its maker */
	PROCESS_EXEC,  /* another program: nothing of what was mapped is left */
	PROCESS_COMM,  /* thread @tid has named itself */
	PROCESS_MAP,   /* mapped executable, or made executable: replaces what it overlaps */
	PROCESS_EXIT,  /* thread @tid has ended */
	PROCESS_LOST,  /* events are missing */
};

/*
 * PIDs and paths are as our PID namespace and the process itself see them. Processes that have
 * no PID in our namespace are left out; a parent that has none is 0.
 *
 * What the kernel does not tell: munmap(2) and mremap(2), and what was mapped before. The child
 * of a fork has the mappings of its parent. A process's first thread may end before the others
 * do: the process has ended for certain when its PID comes again in a FORK.
 */
struct process_event {
	enum process_event_type type;
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid; /* FORK */
	uint64_t time;                   /* ns of CLOCK_MONOTONIC, as bpf_ktime_get_ns() */
	const char *comm;                /* EXEC, COMM */

	/* MAP. A file whose path the kernel could not make is "[path too long]", with no inode. */
	struct mapping map;
	uint64_t
		inode_generation; /* of the file system's: another for a new file with its number */
	const uint8_t *build_id;
	size_t n_build_id; /* at most 20; 0: the kernel had it not at hand (or is before 5.12) */

	/* LOST: so many, of one CPU, after @since and at @time at the latest; 0: unknown. */
	uint64_t n_lost;
	uint64_t since;

	bool is_late; /* one of an unrelated process, with a later time, was given before */
};

struct sideband_options {
	uint32_t ring_bytes; /* of each CPU, a power of two; 0: by the number of CPUs */
	uint32_t
		wakeup_bytes; /* in one CPU's ring until the descriptor is readable; 0: a quarter */
	uint64_t birth;       /* the id of tracepoint task:task_newtask, for SHARE; 0: not known */
};

struct sideband;

/*
 * Follow all processes, from now on. Rings are made smaller where the user may not lock so much.
 * Errors: -EACCES/-EPERM, the message says what is missing; -ENOMEM not even the smallest rings
 * may be locked; -EMFILE (three descriptors for each CPU); others from opening.
 */
must_check int sideband_open(const struct sideband_options *options, struct sideband **ret,
			     struct error *e);
void sideband_close(struct sideband *s);
void sideband_closep(struct sideband **s);

/*
 * Readable when there is something to read; sideband_read() makes it quiet again. Read once
 * behind adding it to an epoll set. Lent by @s.
 */
int sideband_fd(const struct sideband *s);

/* An event, lent until the call returns. A non-zero result ends the reading, and is returned. */
typedef int sideband_visit(void *context, const struct process_event *event);

/*
 * Give @visit what was there before this call, with @is_all everything. In the order of time, and
 * whatever hangs on something comes after it: a process's own events, its parent's before the fork.
 * Also looks, once a second, for CPUs that have come or gone. Returns 0 or what @visit returned,
 * with the events up to that one taken.
 */
int sideband_read(struct sideband *s, bool is_all, sideband_visit *visit, void *context);

/* All has been given that processes did before. */
uint64_t sideband_until(const struct sideband *s);

/* Is there something that was too new for the last read? No wake-up comes for it. */
bool sideband_is_holding(const struct sideband *s);
