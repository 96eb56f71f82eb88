/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/descriptors.h - file descriptors: reserve free ones, close all but a few. */
#pragma once

#include <stddef.h>

/*
 * Reserve @n free descriptors, or as many as there are, in @held. Returns their number. Other
 * threads may find none free until descriptors_release().
 */
size_t descriptors_hold(int *held, size_t n);
void descriptors_release(const int *held, size_t n);

/* Close all descriptors but the @n in @kept. Sorts @kept, and ignores negative numbers in it. */
void descriptors_close_but(int *kept, size_t n);
