/* attach/leftover.h - descriptors whose closing takes too long to wait for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Close @fds without waiting for what the kernel does then: a process that holds them is
 * left behind, and ends with the last of them. It is no child of ours, holds no other
 * descriptor and, once it ends, no memory. false: none could be made, all are still open.
 */
bool leftover_leave(const int *fds, size_t n);
