/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/first_tables.h - unwind tables before the first hit: of the processes of -p, and of the
 * command. Without unwind tables (--unwind fp) these functions do nothing.
 *
 * A run waits 10 s for them, all in all. A file system of another user may be slower: its tables
 * come while the run counts, and the run says so.
 */
#pragma once

#include "base/error.h"

struct run;

/* Start the unwinder. Errors: unwinder_start(). */
must_check int first_tables_start(struct run *r, struct error *e);

/*
 * Have the tables made of -p's processes, and of the files that the command will map. Call it
 * before counting begins.
 */
void first_tables_make(struct run *r);
