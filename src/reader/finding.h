/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/finding.h - where an opener looks for a file that a process has mapped.
 *
 * Each place is a question of its own. A path may lead through a file system that does not answer.
 * That says nothing about the device of the file, nor about paths of others.
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
	FIND_HERE,       /* below our root directory: the process may have gone */
	FIND_BELOW,      /* below a directory that is named */
	FIND_OURS,       /* what is at its path here, whatever it is */
};

/* The first @n of these are tried one after the other, for files that the one before missed. */
extern const enum find_where finding_order[];
#define FINDING_OF_ROOT 4  /* if there is a directory to name */
#define FINDING_OF_PLACE 3 /* if not */

/* May @m be there, if it is not where was looked before? */
bool finding_may_be(enum find_where where, const struct mapping *m);

/* Did the file lie elsewhere, so that the next place may have it? */
bool finding_is_missed(int err);

struct finding {
	uint32_t where; /* enum find_where */
	uint32_t pid;
	int root; /* of FIND_BELOW, an opener's handle; else -1 */
};

/* The place (reader/devices.h) that does not answer if this does not. */
uint64_t finding_place(const struct finding *f, const struct mapping *m);

/*
 * In an opener: *@ret_handle is a handle of the file (O_PATH), and *@st says what it is. Errors:
 * -EINVAL there is no such place; -ESTALE another file is there; others from opening.
 */
must_check int finding_find(const struct finding *f, const struct mapping *m, int *ret_handle,
			    struct stat *st, struct error *e);
