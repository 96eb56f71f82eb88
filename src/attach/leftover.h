/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/leftover.h - close descriptors without waiting. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Close @fds without waiting for the kernel's work. A process that holds them outlives us, and ends
 * when they are closed. It is no child of ours, holds no other descriptor and, once it ends, no
 * memory. False: it could not be made, and all are still open.
 */
bool leftover_leave(const int *fds, size_t n);
