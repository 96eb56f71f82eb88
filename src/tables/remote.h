/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/remote.h - have helpers make the unwind tables of mapped files. The main process opens and
 * parses nothing. Each call waits for its answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "reader/asks.h"
#include "reader/mappings.h"
#include "reader/remote_files.h"

struct remote;

/*
 * @files is borrowed. Helpers spend at most @most_of_user_ns (reader/spending.h) on files of one
 * user; root's files have no such bound.
 */
struct remote *remote_new(struct remote_files *files, uint64_t most_of_user_ns);

/* Also prints the pending messages about files without a table. */
void remote_free(struct remote *r);

/* As given to remote_new(). */
struct remote_files *remote_files_of(struct remote *r);

/*
 * remote_list() and remote_identify() of process @pid, for one thread. Its user pays for waits.
 * Errors: -EDQUOT, -EAGAIN: its processes took too much time; those of remote_list().
 */
must_check int remote_mappings(struct remote *r, uint32_t pid, struct remote_list *ret,
			       struct error *e);

/* Read them again. Are they those of @list? Adds to @list->cost. */
bool remote_mappings_stay(struct remote *r, uint32_t pid, struct remote_list *list);

/* A table from a parser. Its sizes are checked; its contents are as foreign as the file. */
struct remote_table {
	struct table_view view;
	char *memory; /* @view points into it */
};

void remote_table_fini(struct remote_table *t);

/*
 * Have the table of @m's file made. The file was in @state a moment ago. Errors:
 *
 *	-ENOENT   the file has no unwind information
 *	-ENOEXEC  the file is not an ELF file
 *	-EAGAIN   no helper could open the file now, or it is another file
 *	-EDQUOT   files of its owner have taken too much time
 *	-EIO      the parser failed at it; the user has had a warning
 *	-ENOTCONN, -ECANCELED  as client_ask()
 *	others    there is no table, and @e gives the reason
 *
 * After -ENOENT and others, @ret has the ranges of code.
 */
must_check int remote_table_make(struct remote *r, uint32_t pid, const struct mapping *m,
				 const struct file_state *state, struct remote_table *ret,
				 struct error *e);

/* The same for the vdso. Our own vdso serves for all processes. */
must_check int remote_table_of_vdso(struct remote *r, struct remote_table *ret, struct error *e);
