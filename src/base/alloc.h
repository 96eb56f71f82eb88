/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/alloc.h - allocation that cannot fail: without memory the program exits with status 1. */
#pragma once

#include <stddef.h>

/* For allocators of libraries: @p, unless it is NULL. */
void *memory_or_exit(void *p);

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
__attribute__((format(printf, 1, 2))) char *xasprintf(const char *format, ...);
