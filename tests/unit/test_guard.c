/* rooms: elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files that are cut short while they are mapped: nothing ends, and what was read is no answer. */
#include "test.h"

#include "elf/image.h"

#define LIBM "/usr/lib/x86_64-linux-gnu/libm.so.6"

static char path[] = "/tmp/guard.XXXXXX";

/* A library of its own, open. */
static struct image *open_copy(void)
{
	static char data[4 << 20];
	FILE *from = fopen(LIBM, "r"), *to = fopen(path, "w");
	size_t n = from ? fread(data, 1, sizeof(data), from) : 0;
	struct image *im = NULL;

	assert_true(to && n > 100000 && n < sizeof(data));
	assert_int_equal(fwrite(data, 1, n, to), n);
	fclose(from);
	fclose(to);
	assert_int_equal(image_open(path, &im, NULL), 0);
	return im;
}

static uint64_t some_code(const struct image *im)
{
	struct code_range range;

	assert_int_equal(image_code_ranges(im, &range, 1), 1);
	return range.start + (range.end - range.start) / 2;
}

TEST(what_was_cut_off_is_told_of_that_file_alone)
{
	struct image *im = open_copy(), *other = open_copy();
	const uint64_t at = some_code(im);
	struct image_symbol symbol;

	guard_begin(); /* here: cmocka has a handler of its own for each test */
	assert_true(image_function_at(other, at, &symbol));
	assert_false(image_is_damaged(other));
	image_close(other);

	assert_int_equal(truncate(path, 4096), 0);
	(void)image_function_at(im, at, &symbol);
	assert_true(image_is_damaged(im));
	image_close(im);
	im = open_copy();
	assert_true(image_function_at(im, some_code(im), &symbol));
	assert_false(image_is_damaged(im));
	image_close(im);
}

static int make_path(void **state)
{
	const int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	return unlink(path);
}

TEST_MAIN(make_path, remove_path)
