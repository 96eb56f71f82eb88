/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/scratch.h - a folder for a test program's files, removed at its end. */
#pragma once

#include "test.h"

static char scratch[] = "/tmp/test_scratch.XXXXXX";

static inline int scratch_make(void **state)
{
	return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
	cleanup_free char *command = xasprintf("rm -rf '%s'", scratch);

	return system(command);
}

/* The path of @name in the folder, to free(). */
static inline char *scratch_path(const char *name)
{
	return xasprintf("%s/%s", scratch, name);
}

/* The path of @name in the folder, lent until the 16th further call. */
static inline const char *scratch_lent(const char *name)
{
	static char paths[16][128];
	static size_t n;
	char *path = paths[n++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

/* Write @n bytes to @name in the folder, whose folders are made. */
static inline void scratch_write_bytes(const char *name, const void *bytes, size_t n)
{
	cleanup_free char *path = scratch_path(name);

	for (char *slash = path + sizeof(scratch); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}

	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline void scratch_write(const char *name, const char *text)
{
	scratch_write_bytes(name, text, strlen(text));
}

/* Run a command in the folder; it must succeed. Returns 0, as what makes a test's files does. */
static inline int scratch_run(const char *command)
{
	cleanup_free char *line = xasprintf("cd '%s' && %s", scratch, command);

	assert_int_equal(system(line), 0);
	return 0;
}
