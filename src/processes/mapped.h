/* processes/mapped.h - what it is that a process has mapped: a file, the vdso, memory. */
#pragma once

#include <stdbool.h>

#include "reader/mappings.h"

enum image_kind { IMAGE_FILE, IMAGE_VDSO, IMAGE_NO_FILE };

enum image_kind mapped_kind(const struct mapping *m);

/* "libc.so.6", "[vdso]", "[anon]", "memfd:code". Lent by @path. */
const char *mapped_module(const char *path);

/*
 * Memory that programs can write code to, anonymous or in files that are made for it: compilers map
 * these twice, to write there and to run it. The kernel's own pages are in every process.
 */
bool mapped_is_memory(const struct mapping *m);
