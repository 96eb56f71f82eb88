/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/limits.h - how many files may be open (ulimit -n), and who may open them. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct run;

/*
 * The descriptors that a run opens from its start on: timers, the maps' second level, unwind tables
 * (3 at a time), the file that names are read from. Neither events nor kept files may take these.
 */
#define FILES_OF_REST 16

/* Before anything is opened. Errors: -EMFILE, the hard limit is too low for any run like @r. */
must_check int limits_check(const struct run *r, struct error *e);

/* Raise the soft limit to the hard one. What is forked later inherits it. */
void limits_raise(void);

/*
 * When all probes are in place, and before threads open files. Errors: -EMFILE, fewer than
 * FILES_OF_REST are left.
 */
must_check int limits_check_rest(const struct run *r, struct error *e);

/* How many descriptors names may keep open: what is free but FILES_OF_REST. At least 1. */
size_t limits_files_of_names(void);
