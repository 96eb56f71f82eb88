/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/orphan.h - a process that outlives us, and cleans up after us. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Start a process that calls @run(@data) and ends. It keeps only the @n descriptors of @keep. It is
 * no child of ours, belongs to no terminal's session, and no signal but SIGKILL ends it. @name is
 * its name in ps. Returns its PID; 0: it could not be made.
 */
pid_t orphan_start(const int *keep, size_t n, void (*run)(void *data), void *data,
		   const char *name);
