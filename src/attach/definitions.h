/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/definitions.h - events that are defined in tracefs and do not outlive us there. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The events of this process in tracefs' uprobe_events. Places are added to one event at a time.
 * However we end, the events are removed: by us, or by another process that waits for our end.
 */
struct definitions;

/* @tracefs is its directory, lent and kept. NULL: no event can be defined. */
struct definitions *definitions_open(int tracefs);
/* The descriptors that a copy of this process needs to add events. Lent; -1: none. */
#define DEFINITIONS_DESCRIPTORS 2
void definitions_descriptors(const struct definitions *d, int ret[DEFINITIONS_DESCRIPTORS]);
/* The PID of the process that waits, 'removing'. */
pid_t definitions_helper(const struct definitions *d);
/* Remove all events. Close their perf events before. An event that others use stays. */
void definitions_free(struct definitions *d);

/*
 * Add a place to the current event: byte @offset of the file @path. @semaphore is a file offset; 0:
 * none. Returns 0 or the kernel's negative errno.
 */
int definitions_add(struct definitions *d, const char *path, uint64_t offset, uint64_t semaphore);
/* Put perf's number of the current event into *@ret. Returns 0 or a negative errno. */
int definitions_id(const struct definitions *d, uint64_t *ret);
/* The current event is complete. Later places belong to another one. */
void definitions_keep(struct definitions *d);
/* Drop the current event. Later places begin a new one. */
void definitions_drop(struct definitions *d);

/*
 * The number of complete events. A copy of this process may have added some: then set their number
 * here.
 */
unsigned definitions_n(const struct definitions *d);
void definitions_set_n(struct definitions *d, unsigned n);
