/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/local_names.h - names for frames of a saved profile, from files of this machine: for a
 * run on a host without symbols, or with --no-names.
 *
 * Only a file with the build ID of the frame's image is asked, and its debug file. The profile may
 * name any path, so the caller has given up all privileges before.
 */
#pragma once

#include <stdbool.h>

#include "base/strtab.h"
#include "profile/frame.h"

struct debuginfod;

struct local_names_options {
	bool raw_names;             /* not demangled */
	struct debuginfod *servers; /* lent; NULL: ask none */
};

/* Name the user frames of @table that have no name. @strings keeps the names. */
void local_names_fill(struct frame_table *table, struct strtab *strings,
		      const struct local_names_options *options);
