/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* helper/calls.h - the system calls that a helper may make: a filter for seccomp(2). */
#pragma once

#include <stdbool.h>

/*
 * Allow what every helper needs. With @opens also what opens files and passes them on. Everything
 * else is EPERM, so that a library can go on without it. Calls that no library makes here end the
 * process: new programs, processes and sockets, ptrace, BPF, perf.
 *
 * Needs no_new_privs. Returns false where there is no seccomp, or the architecture has no table.
 */
bool calls_allow(bool opens);

/* For processes that run libraries of others, or much of our own. */
enum {
	DENY_OTHERS = 1,   /* look into processes, or take what they have */
	DENY_SYSTEM = 2,   /* mounts, namespaces, modules, keys, clocks, io_uring, ... */
	DENY_TRACING = 4,  /* BPF, perf, the kernel's log */
	DENY_SIGNALS = 8,  /* to other processes */
	DENY_PROGRAMS = 16 /* execve */
};

/*
 * Answer calls of these @groups by EPERM, in this thread and those that it makes, or in all threads
 * of the process. Filters add up. Needs no_new_privs or CAP_SYS_ADMIN. Returns false likewise.
 */
bool calls_deny(unsigned groups, bool of_all_threads);
