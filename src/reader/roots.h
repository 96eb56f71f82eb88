/*
 * reader/roots.h - the root directories of processes. An opener keeps a handle of each: a file can
 * be found in one though all processes have gone that had it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_files;
struct roots;

/* @files is kept; NULL: there are no handles. */
struct roots *roots_new(struct remote_files *files);
void roots_free(struct roots *r);

/* Keep at most @most of them, and no less than one. */
void roots_bound(struct roots *r, size_t most);

/*
 * The root directory of process @pid: a number, one for all that have the same. -1: the process has
 * gone, or there are too many. No file system is asked anything: one that does not answer would
 * hold us up.
 */
int roots_of(struct roots *r, uint32_t pid);

/* The opener's handle of @root (-1: of none); HANDLE_NONE: it has none. */
int roots_handle(const struct roots *r, int root);

/* Are two of these one directory, as those of services that see other mounts below it? */
bool roots_is_one(const struct roots *r, int a, int b);
