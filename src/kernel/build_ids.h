/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/build_ids.h - the build IDs of the running kernel and of its modules. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Write the build ID of @module, or of the kernel itself (NULL), to @to, which has room for @size
 * bytes. Returns its bytes; 0: it has none, or is not loaded.
 */
size_t kernel_build_id(const char *module, uint8_t *to, size_t size);
