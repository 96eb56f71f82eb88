/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/cleanup.h - scope guards: release a resource at the end of the scope that acquired it. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
