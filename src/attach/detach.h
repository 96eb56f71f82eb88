/* attach/detach.h - closing many probes quickly. */
#pragma once

#include <stddef.h>

/*
 * Close links, and the perf events beneath them. If they are so many that the kernel would
 * take longer than about a second, the rest is left to a process that holds nothing else
 * and ends when they are closed; until then, their program may still be run.
 */
void detach_all(const int *links, size_t n_links, const int *events, size_t n_events);

/*
 * The same by a process of its own, so that ours can end at any time: whoever closes a descriptor
 * last waits for the kernel. Returns a descriptor at whose end all are closed, or -1: no process
 * could be made, and nothing is closed.
 */
int detach_aside(const int *links, size_t n_links, const int *events, size_t n_events);
