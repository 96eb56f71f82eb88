/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/memory.h - memory and other resources: allocation that cannot fail (without memory the
 * program exits with status 1), arrays that grow, guards that release a resource at the end of the
 * scope that acquired it.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- allocation --- */

/* For allocators of libraries: @p, unless it is NULL. */
void *memory_or_exit(void *p);

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
__attribute__((format(printf, 1, 2))) char *xasprintf(const char *format, ...);

/* --- arrays: three variables (items, n, capacity) and a macro --- */

#ifndef ARRAY_SIZE /* libiberty has it, too */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

/* Return @items, moved if necessary, with room for more than @n. Doubles *@capacity when full. */
static inline void *array_room(void *items, size_t n, size_t *capacity, size_t item_size)
{
	if (n < *capacity)
		return items;
	*capacity = *capacity ? *capacity * 2 : 16;
	return xreallocarray(items, *capacity, item_size);
}

/* Make room for one more in @items, of which @n are used. */
#define array_reserve(items, n, cap) \
	((items) = array_room((items), (n), &(cap), sizeof((items)[0])))

/* Append @value. */
#define array_push(items, n, cap, value) \
	((void)array_reserve(items, n, cap), (void)((items)[(n)++] = (value)))

/* Compare items that begin with a uint64_t, by that. */
static inline int array_compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* How many of the @n items, sorted by array_compare_u64(), are below @key? */
static inline size_t array_count_below(const void *items, size_t n, size_t item_size, uint64_t key)
{
	size_t low = 0;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		if (array_compare_u64((const char *)items + middle * item_size, &key) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* --- guards --- */

/* A variable may exist for its guard alone. clang would warn that nothing uses it. */
#define cleanup(function) __attribute__((__unused__, __cleanup__(function)))

/* Give @p's value away; the guard of @p then sees NULL. */
#define TAKE(p)                                  \
	({                                       \
		__typeof__(p) take_value_ = (p); \
		(p) = NULL;                      \
		take_value_;                     \
	})

/* The same for a file descriptor; the guard then sees -1. */
#define TAKE_FD(fd)                  \
	({                           \
		int take_fd_ = (fd); \
		(fd) = -1;           \
		take_fd_;            \
	})

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void cleanup_free_p(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

static inline void cleanup_fclose_p(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}

static inline void cleanup_closedir_p(DIR **d)
{
	if (*d)
		closedir(*d);
	*d = NULL;
}

#define cleanup_close cleanup(cleanup_close_fd)
#define cleanup_free cleanup(cleanup_free_p)
#define cleanup_fclose cleanup(cleanup_fclose_p)
#define cleanup_closedir cleanup(cleanup_closedir_p)
