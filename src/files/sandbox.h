/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/sandbox.h - the limits of processes that read foreign files: one table, by kind. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Sanitizers take terabytes of addresses, make any system call, and write to standard error. */
#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/*
 * A finder looks for files, and a parser reads them. The zygote enters the finders' sandbox, and
 * its children inherit that.
 *
 * The other kinds are copies of the main process for one task. A fetcher becomes a program that
 * asks servers. A matcher reads files that the user names.
 */
enum sandbox { SANDBOX_FINDER, SANDBOX_PARSER, SANDBOX_FETCHER, SANDBOX_MATCHER };

/*
 * Enter the sandbox, for good. Does without seccomp and Landlock where the kernel or a container
 * has none. Errors: the kernel refuses to drop capabilities, or to set no_new_privs.
 */
must_check int sandbox_enter(enum sandbox kind, struct error *e);

/*
 * Drop all capabilities but @capabilities, in this thread and the threads that it makes. Empty the
 * bounding set, too, so that execve gains none. Without CAP_SYS_PTRACE keep all, unless
 * @capabilities is 0: then a process may look only at programs that have no more capabilities than
 * itself. Returns a negative errno.
 */
must_check int sandbox_keep(uint64_t capabilities);

/*
 * Let the permitted capabilities @on have effect, and @off have none, in this thread. Returns those
 * that had effect before.
 */
uint64_t sandbox_effect(uint64_t on, uint64_t off);

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
 * all threads of the process. Filters add up. Needs no_new_privs or CAP_SYS_ADMIN. False: there is
 * no seccomp, or no table for the architecture.
 */
bool calls_deny(unsigned groups, bool of_all_threads);
