/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/finding.h - the locations where an opener looks for a mapped file.
 *
 * Each location takes a request of its own. A path may lead through a file system that does not
 * answer. That says nothing about the file's device, or about other users' paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "reader/mappings.h"

enum find_where {
	FIND_MAPPED,     /* /proc/PID/map_files: no path is walked */
	FIND_BY_PROCESS, /* at its path below the process's root directory */
	FIND_HERE,       /* below our root directory, if the process has gone */
	FIND_BELOW,      /* below a named directory */
	FIND_OURS,       /* at its path in our file system, even another file */
};

/*
 * The order in which to try locations, for files that the previous one missed. The constants say
 * how many to try.
 */
extern const enum find_where finding_order[];
#define FINDING_OF_ROOT 4  /* with a directory for FIND_BELOW */
#define FINDING_OF_PLACE 3 /* without one */

/* May @where have @m, if earlier locations do not? */
bool finding_may_be(enum find_where where, const struct mapping *m);

/* Does @err mean that another location may have the file? */
bool finding_is_missed(int err);

/* The user of process @pid, by the "Uid:" line of /proc/PID/status; 0 if it has gone. */
uint32_t finding_user_of(uint32_t pid);

struct finding {
	uint32_t where; /* enum find_where */
	uint32_t pid;
	int root; /* for FIND_BELOW: an opener's handle; else -1 */
};

/* The place (reader/devices.h) that is silent if this location does not answer. */
uint64_t finding_place(const struct finding *f, const struct mapping *m);

/*
 * For an opener: find the file. *@ret_handle is its handle (O_PATH), *@st its status. Errors:
 * -EINVAL unknown location; -ESTALE another file is there; others from opening.
 */
must_check int finding_find(const struct finding *f, const struct mapping *m, int *ret_handle,
			    struct stat *st, struct error *e);
