/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/remote.h - what helpers do for unwind tables: they make tables of files that processes
 * have mapped. Nothing of it is opened or parsed here. Whoever asks waits.
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
 * @files is kept. When files of one user, but for root, have taken @most_of_user_ns of CPU time,
 * no more of them are read.
 */
struct remote *remote_new(struct remote_files *files, uint64_t most_of_user_ns);

/* What has not been said yet of files without a table is said. */
void remote_free(struct remote *r);

/* Lent. */
struct remote_files *remote_files_of(struct remote *r);

/* A table, as foreign as the file that it was made of, but for its sizes. */
struct remote_table {
	struct table_view view;
	char *memory; /* which it lies in */
};

size_t remote_table_bytes(const struct remote_table *t);
void remote_table_fini(struct remote_table *t);

/*
 * The table of @m's file, which was in @state a moment ago. Errors:
 *	-ENOENT   there is nothing to make one of
 *	-ENOEXEC  it is not an ELF file
 *	-EAGAIN   the file could not be had now, or is another one
 *	-EDQUOT   files of its owner have taken too much time
 *	-EIO      its reader failed at it; that was said
 *	-ENOTCONN, -ECANCELED  as client_ask()
 *	others    it has none, and @e says why
 * With -ENOENT and others, @ret has ranges.
 */
must_check int remote_table_make(struct remote *r, uint32_t pid, const struct mapping *m,
				 const struct file_state *state, struct remote_table *ret,
				 struct error *e);

/* The same of the kernel's code in each process, of which ours serves for all. */
must_check int remote_table_of_vdso(struct remote *r, struct remote_table *ret, struct error *e);
