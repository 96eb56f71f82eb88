/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/packed.h - parts of the program that are in it packed by gzip, which keeps it small. */
#pragma once

#include <stddef.h>

/* Unpack the @n bytes of our own at @packed, which are whole and exactly @n_to when unpacked. */
void packed_open(const void *packed, size_t n, void *to, size_t n_to);
