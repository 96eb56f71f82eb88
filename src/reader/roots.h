/*
 * reader/roots.h - the root directories of processes, kept by descriptor: a file can be found in
 * one though all processes have gone that had it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roots;

struct roots *roots_new(void);
void roots_free(struct roots *r);

/* Keep at most @most of them, and no less than one. */
void roots_bound(struct roots *r, size_t most);

/*
 * The root directory of process @pid: a descriptor (O_PATH) that is lent by @r until the end, one
 * for all that have the same. -1: the process has gone, or there are too many. No file system is
 * asked anything: one that does not answer would hold us up.
 */
int roots_of(struct roots *r, uint32_t pid);

/* Of what roots_of() gave. False: it did not. */
struct root_id {
	uint64_t dev, inode;
};
bool roots_identify(const struct roots *r, int root, struct root_id *ret);

/* Are two of these one directory, as those of services that see other mounts below it? */
bool roots_is_one(const struct roots *r, int a, int b);
