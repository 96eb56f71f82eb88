/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/files.h - file descriptors: how many are free, kept so for later; closed but for a few. */
#pragma once

#include <stddef.h>

/*
 * Take free descriptors: @n, or as many as there are. Returns how many are in @held. Other threads
 * may find none until files_release().
 */
size_t files_hold(int *held, size_t n);
void files_release(const int *held, size_t n);

/* Count the free descriptors, up to @most. Takes them for a moment. */
size_t files_free(size_t most);

/* Close all descriptors but the @n at @kept, which are sorted. Negative ones are none. */
void files_close_but(int *kept, size_t n);
