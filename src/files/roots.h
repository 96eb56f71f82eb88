/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/roots.h - the root directories of processes.
 *
 * A handle of each is held (files.h). So a file can be found in one even if all its processes have
 * gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files;
struct roots;

/* @files must outlive the result; NULL: there are no handles. */
struct roots *roots_new(struct files *files);
void roots_free(struct roots *r);

/*
 * Returns the number of the root directory of process @pid. Processes with the same one share a
 * number. -1: the process has gone, or there are too many. Asks no file system, because a dead one
 * would hold us up.
 */
int roots_of(struct roots *r, uint32_t pid);

/* The handle of @root. HANDLE_NONE: there is none, or @root is -1. */
int roots_handle(const struct roots *r, int root);

/* Are @a and @b the same directory? Services may have one with other mounts below it. */
bool roots_is_one(const struct roots *r, int a, int b);
