/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/perf_ring.h - the ring that perf events write records into (perf_event_open(2)). */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy @n bytes from position @at on. They may go round the ring's end. @page is the ring's first
 * page, before the data. @n is at most the size of the data.
 */
void perf_ring_copy(const struct perf_event_mmap_page *page, uint64_t at, void *to, size_t n);
