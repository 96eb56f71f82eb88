/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/elf_files.h - ELF files: of the machine's own compiler and linker, in the folder of
 * scratch.h; and of bytes in memory.
 */
#pragma once

#include "scratch.h"

#include "elf/image.h"
#include "made_elf.h"

/* A file of the machine, or of the folder. */
static inline struct image *open_image(const char *name)
{
	struct image *im = NULL;
	struct error e = {};

	if (image_open(name[0] == '/' ? name : scratch_lent(name), &im, &e) != 0)
		fail_msg("%s", e.text);
	return im;
}

static inline struct image *open_memory(const void *data, size_t size)
{
	struct image *im = NULL;
	struct error e = {};

	if (image_open_memory(data, size, "made", &im, &e) != 0)
		fail_msg("%s", e.text);
	return im;
}

/* A file of these sections and @n_code bytes of code (made_elf.h). */
static inline struct image *open_made(const struct made_section *sections, size_t n, size_t n_code)
{
	size_t size;
	cleanup_free void *file = made_elf(sections, n, n_code, &size);

	return open_memory(file, size);
}

/* The whole of such a file, to free(). */
static inline uint8_t *read_file(const char *name, size_t *ret_size)
{
	cleanup_fclose FILE *f = fopen(name[0] == '/' ? name : scratch_lent(name), "r");
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
