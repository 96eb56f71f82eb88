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
