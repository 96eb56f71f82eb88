/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/limits.h - the limit of open files (ulimit -n), and how a run divides it. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct run;

/*
 * The descriptors that a run opens after its start. They serve timers, the maps' second level, 3
 * unwind tables at a time, and the file with names. Events and kept files leave these free.
 */
#define FILES_OF_REST 16

/*
 * Call it before the run opens anything. Errors: -EMFILE, the hard limit is too low for a run like
 * @r.
 */
must_check int limits_check(const struct run *r, struct error *e);

/* Raise the soft limit to the hard one. Processes that are forked later inherit it. */
void limits_raise(void);

/*
 * Call it when all probes are in place, and before threads open files. Errors: -EMFILE, fewer than
 * FILES_OF_REST are free.
 */
must_check int limits_check_rest(const struct run *r, struct error *e);

/*
 * How many descriptors the model of processes may keep open: the free ones less FILES_OF_REST, at
 * least 1. SIZE_MAX: there are plenty.
 */
size_t limits_files_of_names(void);
