/* attach/orphan.h - a process that outlives us, to put in order what we cannot. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Start a process that calls @run(@data) and ends, and of all descriptors has only the @n at
 * @keep. It is no child of ours and in no terminal's session; no signal but SIGKILL ends it.
 * Returns its PID, or 0: none could be made.
 */
pid_t orphan_start(const int *keep, size_t n, void (*run)(void *data), void *data,
		   const char *name);
