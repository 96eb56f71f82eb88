/*
 * symbolize/roots.h - the root directories of processes, where they are not ours: debug files
 * of a container lie in it, and are looked for when the process may have ended.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Our own, and that of whatever cannot be told. */
#define ROOT_OURS UINT32_MAX

/* A zeroed one is empty. */
struct roots {
	struct root *list;
	size_t n, capacity;
};

void roots_fini(struct roots *r);

/* The number of process @pid's root directory, which is held open. */
uint32_t roots_of(struct roots *r, uint32_t pid);

/* Its descriptor, lent by @r; -1 for our own. */
int roots_fd(const struct roots *r, uint32_t root);
