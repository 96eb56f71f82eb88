/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/packed.h - parts of the program that are in it packed, which keeps it small. */
#pragma once

#include <stddef.h>

/*
 * Unpack the @n bytes of our own at @packed, which are whole and exactly @n_to when unpacked. Each
 * ends the program when out of memory. gzip unpacks five times as fast, and xz packs tables to
 * half.
 */
void packed_open(const void *packed, size_t n, void *to, size_t n_to);
void packed_open_xz(const void *packed, size_t n, void *to, size_t n_to);
