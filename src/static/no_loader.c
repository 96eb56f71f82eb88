// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions for the static program, which ld's option --wrap puts in place of libc's. In a static
 * program, libc's own dlopen() loads shared libraries of the libc that the program was linked with,
 * and crashes beside others. These functions find no library.
 */
#include <stddef.h>

void *no_dlopen(const char *path, int flags) __asm__("__wrap_dlopen");
void *no_dlsym(void *library, const char *name) __asm__("__wrap_dlsym");
int no_dlclose(void *library) __asm__("__wrap_dlclose");

void *no_dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}

void *no_dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

int no_dlclose(void *library)
{
	(void)library;
	return -1;
}
