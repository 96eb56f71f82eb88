/* reader/ldcache.h - which file a library's name means; for libraries.c and its tests. */
#pragma once

#include <stdbool.h>

/*
 * Is @file ("libc.so.6") the library that was asked for as @wanted ("c", "libc",
 * "libc.so", "libc.so.6")? Returns its version for comparing (".6", "" without
 * one, "-2.31" of libc-2.31.so; lent by @file), or NULL. strverscmp(3) orders them.
 */
const char *library_version(const char *file, const char *wanted);

/* Is @path an ELF file for this machine? A linker script named libc.so is not. */
bool is_native_elf(const char *path);

/* The file of @wanted by ldconfig's @cache, with the highest version; to free(), NULL if none. */
char *ldcache_find(const char *cache, const char *wanted);
