/*
 * attach/link.h - the system calls that attach. They return a descriptor or the kernel's
 * negative errno, which attach_all() puts into words.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* For the process @pid, or every process with -1. */
must_check int link_open_event(const struct perf_event_attr *attr, int pid);

/* Have @event_fd run the program: by a link, or (returning 0) until the event is closed. */
must_check int link_to_event(int event_fd, int prog_fd);
must_check int link_set_program(int event_fd, int prog_fd);

/* By addresses or by symbols; the other is NULL. */
must_check int link_kprobe_multi(int prog_fd, const uint64_t *addrs, const char *const *symbols,
				 size_t n);

/* @semaphores may be NULL; @pid 0: every process. */
must_check int link_uprobe_multi(int prog_fd, const char *path, const uint64_t *offsets,
				 const uint64_t *semaphores, size_t n, uint32_t pid);

/* Hits missed at a link, as far as the kernel counts them. */
uint64_t link_missed(int link_fd);
