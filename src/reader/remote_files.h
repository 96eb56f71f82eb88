/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/remote_files.h - the mappings and files of processes, as openers see them. Nothing of it
 * is opened here. Whoever asks waits, as the client was told to (client_set_manner()).
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

/* Identifies a file and its contents: after a write it is another one. */
struct file_state {
	uint64_t dev, inode;
	struct file_fact fact;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b);

struct remote_files;

/*
 * @client is kept (NULL: there are no helpers, and all calls fail), and so is @devices. @lost is
 * what the user loses without helpers. Calls fail with -EAGAIN where a file system does not answer.
 */
struct remote_files *remote_files_new(struct client *client, struct devices *devices,
				      const char *lost);
void remote_files_free(struct remote_files *f);

/* For further questions to its helpers. Lent. */
struct asking *remote_files_asking(struct remote_files *f);

/* -- Mappings. -- */

/* What a process has mapped. */
struct remote_list {
	struct mapping_list list;
	char *block;               /* its paths lie in */
	struct file_state *states; /* of each mapping's file; NULL: not asked for */
	uint64_t cost; /* ns of CPU time that helpers took for it, or wall time if one did not
			  answer */
};

/* Errors: -ESRCH no such process (any more); others. @ret->cost is set in any case. */
must_check int remote_list(struct remote_files *f, uint32_t pid, struct remote_list *ret,
			   struct error *e);
/* Fill ret->states in. Those of files that cannot be found are zeroed. */
void remote_identify(struct remote_files *f, struct remote_list *list);
void remote_list_fini(struct remote_list *list);

/* The state of what process @pid maps as @m, or what is there now if the process has gone. */
bool remote_state(struct remote_files *f, uint32_t pid, const struct mapping *m,
		  struct file_state *ret);

/* -- Handles: numbers of files that openers hold for us (O_PATH). -- */

#define HANDLE_NONE (-1)

/* How many there may be: the openers' table has our limit of descriptors. At least 8. */
size_t remote_most_handles(void);

struct remote_handle {
	int handle;
	uint64_t dev; /* of the mapping by which it was found; else as the opener saw it */
	struct file_fact fact;
};

/*
 * The file that process @pid maps as @m; if the process has gone, what is at its path below
 * @root (its handle, remote_root(); HANDLE_NONE: nowhere). Errors: -ESTALE another file is there;
 * -EMFILE; others.
 */
must_check int remote_open(struct remote_files *f, uint32_t pid, int root, const struct mapping *m,
			   struct remote_handle *ret, struct error *e);

/* What is at the path of @m as this program sees it: mapping_find_ours(). */
must_check int remote_open_ours(struct remote_files *f, const struct mapping *m,
				struct remote_handle *ret, struct error *e);

/* The root directory of process @pid, which must be @dev and @inode. HANDLE_NONE: it cannot be had.
 */
int remote_root(struct remote_files *f, uint32_t pid, uint64_t dev, uint64_t inode);

/* What @n handles' files are now, in @ret; zeroed where that is not known. */
void remote_facts(struct remote_files *f, const struct remote_handle *handles, size_t n,
		  struct file_fact *ret);

/* Not closed at once, but with others. HANDLE_NONE is taken. */
void remote_close(struct remote_files *f, int handle);

/* Where the debug file of a file is looked for. */
struct debug_search {
	const struct debug_hint *hint;
	const char *path; /* of the file, */
	int root;         /* as processes with this root have it; HANDLE_NONE: our own */
	uint32_t at;      /* the number of the next candidate (elf/debug.h) */
	uint32_t user;    /* who owns the file */
	bool is_missed;   /* set if an opener could not look at a candidate: it may be there */
};

/* The next candidate that is there; s->at is its number. -ENOENT: there are no more. */
must_check int remote_open_debug(struct remote_files *f, struct debug_search *s,
				 struct remote_handle *ret, struct error *e);

/*
 * Have an opener send the file of @handle, if it is as handle->fact says, to a parser
 * (asking_address()), which knows it as @number. Errors: -ESTALE it was written to; others.
 */
must_check int remote_send(struct remote_files *f, const struct remote_handle *handle,
			   uint32_t number, uint32_t files, int32_t parser, struct error *e);

/* -- Perf maps. -- */

/*
 * What ASK_PERF_MAP answers. With fact.handle, another file than the held one: that is the caller's
 * to close. Else @n bytes of @text, in @memory, to free(); more may follow. Errors: -ENOENT there
 * is none; -EPERM it is not taken, and @e says why; others.
 */
struct remote_perf_map {
	struct perf_fact fact;
	char *memory;
	const char *text;
	size_t n;
};
must_check int remote_perf_map(struct remote_files *f, const struct perf_payload *what,
			       struct remote_perf_map *ret, struct error *e);
