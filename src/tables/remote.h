/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/remote.h - what helpers do for unwind tables: they read what processes have mapped, find
 * its files, and make tables of these. Nothing of it is opened or parsed here. Whoever asks waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "helper/client.h"
#include "reader/asks.h"
#include "reader/mappings.h"

/* Identifies a file and its contents: after a write it is another one. */
struct file_state {
	uint64_t dev, inode;
	struct file_fact fact;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b);

struct remote;

/*
 * @client is kept. When files of one user, but for root, have taken @most_of_user_ns of CPU time,
 * no more of them are read.
 */
struct remote *remote_new(struct client *client, uint64_t most_of_user_ns);

/* What has not been said yet of files without a table is said. */
void remote_free(struct remote *r);

/* What a process has mapped. */
struct remote_list {
	struct mapping_list list;
	char *block;               /* its paths lie in */
	struct file_state *states; /* of each mapping's file; NULL: not asked for */
	uint64_t cost; /* ns of CPU time that helpers took for it, or wall time if one did not
			  answer */
};

/* Errors: -ESRCH no such process (any more); others. @ret->cost is set in any case. */
must_check int remote_list(struct remote *r, uint32_t pid, struct remote_list *ret,
			   struct error *e);
/* Fill ret->states in. Those of files that cannot be found are zeroed. */
void remote_identify(struct remote *r, struct remote_list *list);
void remote_list_fini(struct remote_list *list);

/* The state of what process @pid maps as @m, or what is there now if the process has gone. */
bool remote_state(struct remote *r, uint32_t pid, const struct mapping *m, struct file_state *ret);

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
