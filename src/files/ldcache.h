/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/ldcache.h - finds the file of a library's name. For libraries.c and its tests. */
#pragma once

#include <stdbool.h>

/*
 * Is @file ("libc.so.6") the library that @wanted names? @wanted may be "c", "libc", "libc.so" or
 * "libc.so.6". Returns NULL if not. Else returns its version for strverscmp(3), lent by @file:
 * ".6", "" for none, or "-2.31" of libc-2.31.so.
 */
const char *library_version(const char *file, const char *wanted);

/* Is @path an ELF file for this machine? A linker script named libc.so is not. */
bool is_native_elf(const char *path);

/*
 * Returns the file of @wanted with the highest version in ldconfig's @cache. The caller frees it.
 * NULL: there is none.
 */
char *ldcache_find(const char *cache, const char *wanted);
