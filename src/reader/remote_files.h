/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/remote_files.h - reads mappings and files of processes through openers.
 *
 * The main process opens none of these files itself. Calls wait as client_set_manner() says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "reader/asking.h"
#include "reader/asks.h"
#include "reader/devices.h"
#include "reader/mappings.h"

/* Identifies a file and its contents. A write makes it another state. */
struct file_state {
	uint64_t dev, inode;
	struct file_fact fact;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b);

struct remote_files;

/*
 * All calls use @client. If it is NULL, there are no helpers, and all calls fail. @client and
 * @devices must outlive the result. @lost is the loss without helpers, for a warning. Calls fail
 * with -EAGAIN if a file system does not answer.
 */
struct remote_files *remote_files_new(struct client *client, struct devices *devices,
				      const char *lost);
void remote_files_free(struct remote_files *f);

/* For other requests to its helpers. Lent by @f. */
struct asking *remote_files_asking(struct remote_files *f);

/* -- Mappings. -- */

/* The executable mappings of a process. */
struct remote_list {
	struct mapping_list list;
	char *block;               /* holds the paths */
	struct file_state *states; /* of each mapping's file; NULL: not known */
	uint64_t cost; /* ns of helpers' CPU time; wall time if a helper did not answer */
};

/*
 * Read the mappings of process @pid. Sets @ret->cost even on error. Errors: -ESRCH no such process
 * (any more); others.
 */
must_check int remote_list(struct remote_files *f, uint32_t pid, struct remote_list *ret,
			   struct error *e);
/* Fill in list->states, with zeros for files that cannot be found. */
void remote_identify(struct remote_files *f, struct remote_list *list);
void remote_list_fini(struct remote_list *list);

/*
 * The state of the file that process @pid maps as @m, or of the file now at its path if the process
 * has gone. False: there is none.
 */
bool remote_state(struct remote_files *f, uint32_t pid, const struct mapping *m,
		  struct file_state *ret);

/* -- Handles: numbers of files that openers hold for us (O_PATH). -- */

#define HANDLE_NONE (-1)

/*
 * The most handles that we may hold: the openers' table has our limit of descriptors. At least 8.
 */
size_t remote_most_handles(void);

struct remote_handle {
	int handle;
	uint64_t dev; /* the mapping's device; for others the one that the opener saw */
	struct file_fact fact;
};

/*
 * Find the file that process @pid maps as @m. If the process has gone, find the file at its path
 * below @root (remote_root(); HANDLE_NONE: no directory). Errors: -ESTALE another file is there;
 * -EMFILE; others.
 */
must_check int remote_open(struct remote_files *f, uint32_t pid, int root, const struct mapping *m,
			   struct remote_handle *ret, struct error *e);

/* Find the file at the path of @m in our file system (mapping_find_ours()). */
must_check int remote_open_ours(struct remote_files *f, const struct mapping *m,
				struct remote_handle *ret, struct error *e);

/*
 * Returns a handle of the root directory of process @pid, which must be @dev and @inode.
 * HANDLE_NONE: an opener cannot have it.
 */
int remote_root(struct remote_files *f, uint32_t pid, uint64_t dev, uint64_t inode);

/* Write the present state of @n handles' files to @ret; zeros if a state is unknown. */
void remote_facts(struct remote_files *f, const struct remote_handle *handles, size_t n,
		  struct file_fact *ret);

/* Close @handle, later and together with others. Ignores HANDLE_NONE. */
void remote_close(struct remote_files *f, int handle);

/* A search for the debug file of a file. */
struct debug_search {
	const struct debug_hint *hint;
	const char *path; /* of the file */
	int root;         /* handle of the root that @path belongs to; HANDLE_NONE: our own */
	uint32_t at;      /* number of the next candidate (elf/debug.h) */
	uint32_t user;    /* owner of the file */
	bool is_missed;   /* an opener could not look at a candidate, which may exist */
};

/* Find the next existing candidate, and set s->at to its number. -ENOENT: there are no more. */
must_check int remote_open_debug(struct remote_files *f, struct debug_search *s,
				 struct remote_handle *ret, struct error *e);

/*
 * Have an opener send the file of @handle to the parser at asking_address(), as number @number.
 * Errors: -ESTALE the file differs from handle->fact; others.
 */
must_check int remote_send(struct remote_files *f, const struct remote_handle *handle,
			   uint32_t number, uint32_t files, int32_t parser, struct error *e);

/* -- Perf maps. -- */

/*
 * The answer to ASK_PERF_MAP. @text has @n bytes in @memory, which the caller frees; more may
 * follow. Errors: -ENOENT there is none; -EPERM the opener refuses it, and @e says why; others.
 */
struct remote_perf_map {
	struct perf_fact fact;
	char *memory;
	const char *text;
	size_t n;
};
must_check int remote_perf_map(struct remote_files *f, const struct perf_payload *what,
			       struct remote_perf_map *ret, struct error *e);
