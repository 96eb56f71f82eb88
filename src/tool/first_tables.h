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
struct command_watch;

/* Begin to make the tables of -p's processes, while the run matches patterns and loads programs. */
void first_tables_ahead(struct run *r);

/* Start the unwinder. It takes over the tables that were made ahead. Errors: unwinder_start(). */
must_check int first_tables_start(struct run *r, struct error *e);

/* Have the tables of -p's processes made. */
void first_tables_of_pids(struct run *r);

/* Have the command's tables made for the mappings that it has now. @run is the struct run. */
void first_tables_look(void *run);

/* The same for its program, before it begins, and for its libraries, before their code runs. */
void first_tables_of_command(struct run *r, const struct command_watch *watch);
