// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/*
 * Every probe that the program holds is a file descriptor, so the kernel detaches
 * all of them at the exit.
 */
void *memory_or_exit(void *p)
{
	if (p)
		return p;
	log_release();
	log_warn("out of memory"); /* allocates nothing itself */
	_exit(1);
}

void *xmalloc(size_t size)
{
	return memory_or_exit(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return memory_or_exit(calloc(n ? n : 1, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return memory_or_exit(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return memory_or_exit(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return memory_or_exit(strndup(s, n));
}

char *xasprintf(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return memory_or_exit(text);
}
