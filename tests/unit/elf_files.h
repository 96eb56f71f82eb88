/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/elf_files.h - files made by the machine's own compiler and linker,
 * in a folder that the tests make and remove.
 */
#pragma once

#include "test.h"

#include "elf/image.h"

static char folder[] = "/tmp/test_elf.XXXXXX";

/* folder/@name, to free(). */
static inline char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static inline void write_file(const char *name, const void *data, size_t size)
{
	cleanup_free char *path = in_folder(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* @command runs in the folder. */
static inline int run(const char *command)
{
	cleanup_free char *line = xasprintf("cd %s && %s", folder, command);

	return system(line);
}

static inline int remove_files(void **state)
{
	return run("rm -rf \"$PWD\"");
}

static inline struct image *open_image(const char *name)
{
	cleanup_free char *path = name[0] == '/' ? xstrdup(name) : in_folder(name);
	struct image *im = NULL;
	struct error e = {};

	if (image_open(path, &im, &e) != 0)
		fail_msg("%s", e.text);
	return im;
}

/* The whole of a file, to free(). */
static inline uint8_t *read_file(const char *name, size_t *ret_size)
{
	cleanup_free char *path = in_folder(name);
	cleanup_fclose FILE *f = fopen(path, "r");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*ret_size = (size_t)st.st_size;
	uint8_t *data = xmalloc(*ret_size);
	assert_int_equal(fread(data, 1, *ret_size, f), *ret_size);
	return data;
}

/* The last function of a name, and how many there are. */
struct wanted {
	const char *name;
	struct image_symbol symbol;
	size_t n_seen;
};

static inline int find_name(void *context, const struct image_symbol *symbol)
{
	struct wanted *w = context;

	if (strcmp(symbol->name, w->name) == 0) {
		w->symbol = *symbol;
		w->n_seen++;
	}
	return 0;
}

static inline struct wanted find(struct image *im, const char *name)
{
	struct wanted w = { .name = name };

	assert_int_equal(image_each_function(im, find_name, &w), 0);
	return w;
}
