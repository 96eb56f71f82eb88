/*
 * tables/unwinder.h - gives the programs what they walk by: what processes have mapped, and the
 * tables of these files, as helpers tell (tables/remote.h). In a thread of its own, so that nothing
 * waits for a table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"
#include "reader/mappings.h"
#include "tables/ahead.h"

struct unwinder;

/*
 * At most @max_bytes of tables. @object and @remote are kept; @ahead is handed over, or NULL.
 * Errors: from starting the thread.
 */
must_check int unwinder_start(struct object *object, uint64_t max_bytes, struct remote *remote,
			      struct ahead *ahead, struct unwinder **ret, struct error *e);
/*
 * Give up all wishes. False: one takes too long (thread_join_soon()). Nothing is freed then, and
 * the object must stay.
 */
bool unwinder_stop(struct unwinder *u);

enum unwinder_wish {
	UNWINDER_NOW,      /* before all others */
	UNWINDER_SOMETIME, /* after them */
	UNWINDER_CHANGED,  /* it has mapped more since it was looked at */
};

/*
 * What processes do comes in thousands a second, and many at a time: unwinder_over(), _file(), and
 * _look() for UNWINDER_CHANGED, wait until this is called, or something is asked for at once.
 */
void unwinder_begin(struct unwinder *u);

/* The program that process @tgid ran ended at @time, ns of CLOCK_MONOTONIC. */
void unwinder_over(struct unwinder *u, uint32_t tgid, uint64_t time);

/*
 * Process @tgid has mapped a file as in @m: whoever does so is walked by its table before all that
 * the process has mapped is known.
 */
void unwinder_file(struct unwinder *u, uint32_t tgid, const struct mapping *m);

/*
 * Look (again) at what process @tgid, of our PID namespace, has mapped. One that has gone is
 * forgotten.
 */
void unwinder_look(struct unwinder *u, uint32_t tgid, enum unwinder_wish how);

/*
 * Process @tgid was hit, and not all that it has mapped could be walked by: of the file of @inode
 * on
 * @dev (FILE_DEV()), if @inode is not 0. Looked at at once.
 */
void unwinder_miss(struct unwinder *u, uint32_t tgid, uint64_t inode, uint32_t dev);

/* Return when all wishes are fulfilled. */
void unwinder_wait(struct unwinder *u);

/* The same, or soon after @is_over says so: a foreign file may take long. */
void unwinder_wait_unless(struct unwinder *u, bool (*is_over)(const void *context),
			  const void *context);

/* Call @at_rest once, in the thread, when all wishes are fulfilled. Only one can wait. */
void unwinder_then(struct unwinder *u, void (*at_rest)(void *context), void *context);

/* For --debug: images, tables and what they take, to standard error. */
void unwinder_describe(struct unwinder *u);
