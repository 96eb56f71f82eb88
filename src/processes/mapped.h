/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/mapped.h - the kind and the short name of a mapped object: a file, the vdso, memory. */
#pragma once

#include <stdbool.h>

#include "reader/mappings.h"

enum image_kind { IMAGE_FILE, IMAGE_VDSO, IMAGE_NO_FILE };

enum image_kind mapped_kind(const struct mapping *m);

/* "libc.so.6", "[vdso]", "[anon]", "memfd:code". A part of @path, or a constant. */
const char *mapped_module(const char *path);

/*
 * May the process have written the code there? True for anonymous memory, and for files in memory:
 * JIT compilers map these twice, for writing and for execution. False for the kernel's own pages,
 * such as the vdso.
 */
bool mapped_is_memory(const struct mapping *m);
