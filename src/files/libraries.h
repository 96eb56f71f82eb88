/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files/libraries.h - finds the file that "c", "bash" or "./prog" names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Find the file that @library names. A name with a '/' is a path. Any other name means a library,
 * or else a program on PATH. "c" is libc.so.6, by ld.so.cache and the usual folders.
 *
 * If @pid is not 0, look among that process's mappings, in its own mount namespace. The result then
 * goes through /proc/PID/root. A path that is not mapped is looked up below the process's root.
 *
 * The caller frees *@ret, a path with symbolic links resolved. Errors: -ENOENT, with a message that
 * lists the searched locations; -ESRCH; -EACCES.
 */
must_check int library_find(const char *library, uint32_t pid, char **ret, struct error *e);

/* -- Its parts. -- */

/*
 * Is @file ("libc.so.6") the library that @wanted names? @wanted may be "c", "libc", "libc.so" or
 * "libc.so.6". Returns NULL if not. Else returns its version for strverscmp(3), lent by @file:
 * ".6", "" for none, or "-2.31" of libc-2.31.so.
 */
const char *library_version(const char *file, const char *wanted);

/*
 * Returns the file of @wanted with the highest version in ldconfig's @cache. The caller frees it.
 * NULL: there is none.
 */
char *ldcache_find(const char *cache, const char *wanted);
