/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/detach.h - close many probes quickly. */
#pragma once

#include <stddef.h>

/*
 * Close links within a moment. If the kernel takes longer than that, a process that holds nothing
 * else waits for it, and then ends. Until then the links' programs may still run. A message says
 * so.
 */
void detach_links(const int *links, size_t n);
