/* attach/definitions.h - events that are defined in tracefs, and do not outlive us there. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Events of this process in tracefs' uprobe_events, one being defined at a time. However we
 * end, they are removed: if not by us, by a process that waits for that.
 */
struct definitions;

/* @tracefs: its directory; kept, lent by the caller. NULL: it takes none from us. */
struct definitions *definitions_open(int tracefs);
/* What a copy of this process needs to add to them; lent, -1: none. */
#define DEFINITIONS_DESCRIPTORS 2
void definitions_descriptors(const struct definitions *d, int ret[DEFINITIONS_DESCRIPTORS]);
/* The process that waits, 'removing'. */
pid_t definitions_helper(const struct definitions *d);
/* Remove all. Their perf events are to be closed before; what others use stays. */
void definitions_free(struct definitions *d);

/*
 * One place more for the event being defined: byte @offset of the file @path, and the file
 * offset of its @semaphore, 0 if it has none. Returns 0 or the kernel's negative errno.
 */
int definitions_add(struct definitions *d, const char *path, uint64_t offset, uint64_t semaphore);
/* Perf's number of the event being defined; 0 or negative errno. */
int definitions_id(const struct definitions *d, uint64_t *ret);
/* It is complete: what is added next is of another event. */
void definitions_keep(struct definitions *d);
/* Forget it: what is added next begins anew. */
void definitions_drop(struct definitions *d);

/* How many are complete, and so many are now, if a copy of this process has added to them. */
unsigned definitions_n(const struct definitions *d);
void definitions_set_n(struct definitions *d, unsigned n);
