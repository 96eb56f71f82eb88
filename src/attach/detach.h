/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/detach.h - close many probes quickly. */
#pragma once

#include <stddef.h>

/*
 * Close links, and the perf events below them. If the kernel would take longer than about a second,
 * a process that holds nothing else inherits the rest, and ends when they are closed. Until then
 * their programs may still run.
 */
void detach_all(const int *links, size_t n_links, const int *events, size_t n_events);

/*
 * The same in another process, so that ours can end at any time: the process that closes a
 * descriptor last waits for the kernel. Returns a descriptor that reaches its end when all are
 * closed. -1: no process could be made, and nothing is closed.
 */
int detach_aside(const int *links, size_t n_links, const int *events, size_t n_events);
