/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/calls.h - filters for seccomp(2). */
#pragma once

#include <stdbool.h>

/*
 * Allow the calls that a parser needs. Other calls fail with EPERM, so that a library can go on.
 * Calls that no parser's library makes end the process: new programs, processes and sockets,
 * ptrace, BPF, perf.
 *
 * Needs no_new_privs. Returns false if there is no seccomp, or no table for the architecture.
 */
bool calls_allow(void);

/* Groups of calls to deny to a process that runs foreign libraries, or much of our own code. */
enum {
	DENY_OTHERS = 1,   /* read other processes, or take their descriptors */
	DENY_SYSTEM = 2,   /* mounts, namespaces, modules, keys, clocks, io_uring, ... */
	DENY_TRACING = 4,  /* BPF, perf, the kernel's log */
	DENY_SIGNALS = 8,  /* to other processes */
	DENY_PROGRAMS = 16 /* execve */
};

/*
 * Let calls of these @groups fail with EPERM, in this thread and the threads that it makes, or in
 * all threads of the process. Filters add up. Needs no_new_privs or CAP_SYS_ADMIN. Returns false as
 * calls_allow() does.
 */
bool calls_deny(unsigned groups, bool of_all_threads);
