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
#include "files/mappings.h"

enum process_event_type {
	PROCESS_FORK, /* a new process; a new thread of it if @pid is @parent_pid */
	PROCESS_EXEC, /* another program; all former mappings have gone */
	PROCESS_COMM, /* thread @tid has a new name */
	PROCESS_MAP,  /* a new executable mapping, or a protection made executable; it replaces
			 mappings that it overlaps */
	PROCESS_EXIT, /* thread @tid has ended */
	PROCESS_LOST, /* events are missing */
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

struct sideband;

/*
 * Follow all processes from now on. @ring_bytes is for each CPU, a power of two; 0: by the number
 * of CPUs. If the user may not lock so much memory, rings are smaller.
 *
 * Errors: -EACCES, -EPERM  the message names the missing permission
 *         -ENOMEM          the user may not lock even the smallest rings
 *         -EMFILE          each CPU needs two descriptors
 *         others           of perf_event_open(2), mmap(2) and epoll
 */
must_check int sideband_open(uint32_t ring_bytes, struct sideband **ret, struct error *e);
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

/* --- records and the ring of one CPU; for tests --- */

#define MAX_RECORD_BYTES 65536 /* a record's size is a 16-bit number */
#define MAX_BUILD_ID 20

enum record_meaning {
	RECORD_EVENT,
	RECORD_BUILD_ID,  /* the build ID of the mapping in the next MMAP2 record of the ring */
	RECORD_OTHER,     /* to be skipped */
	RECORD_MALFORMED, /* no kernel writes such a record */
};

/*
 * Parse a whole record of @n bytes, with its trailer. @n is the header's size, a multiple of 8.
 * Strings in @ret point into @record, and parsing may change its bytes. @build_id_event is the id
 * of the event with attr.build_id, or 0.
 */
enum record_meaning sideband_parse(uint8_t *record, size_t n, uint64_t build_id_event,
				   struct process_event *ret);

struct sideband_ring {
	struct perf_event_mmap_page *page; /* borrowed; the data follows it */
	uint64_t build_id_event;           /* as for sideband_parse() */
	uint64_t tail, head;
	uint64_t next; /* time of the record at @tail; UINT64_MAX: there is none */
	uint64_t last; /* time of the record before @tail */

	/* The last build ID, if no mapping has come since. The next record may be its mapping. */
	struct process_event noted;
	uint8_t noted_id[MAX_BUILD_ID];
};

/* Read the kernel's head: records up to there can be taken. */
void sideband_ring_look(struct sideband_ring *ring);

/*
 * Take the record at @tail, which must be there. False: it is of no interest. @ret is valid until
 * @buffer (MAX_RECORD_BYTES) or @ring is used again. A malformed record becomes a PROCESS_LOST.
 */
bool sideband_ring_take(struct sideband_ring *ring, uint8_t *buffer, struct process_event *ret);

/* Give up all records up to the kernel's head. Returns their number. */
uint64_t sideband_ring_drop(struct sideband_ring *ring);
