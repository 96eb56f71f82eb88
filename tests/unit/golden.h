/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/golden.h - what is made against the files in tests/golden, byte for byte. With
 * GOLDEN_UPDATE=1 the files are written instead, to be read before they are committed, and the
 * tests fail.
 */
#pragma once

#include "test.h"

#include "base/strbuf.h"

/* This file's folder, and from there the golden files'. */
#define GOLDEN "../golden/"

static inline void golden_path(const char *name, char *to, size_t size)
{
	const char *slash = strrchr(__FILE__, '/');
	int folder = slash ? (int)(slash - __FILE__ + 1) : 0;

	(void)snprintf(to, size, "%.*s" GOLDEN "%s", folder, __FILE__, name);
}

static inline void golden_read(const char *path, struct strbuf *to)
{
	FILE *f = fopen(path, "r");
	char bytes[4096];
	size_t n;

	if (!f)
		fail_msg("%s cannot be opened", path);
	strbuf_puts(to, "");
	while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
		strbuf_put(to, bytes, n);
	(void)fclose(f);
}

/* @made is what the golden file of that name holds. */
static inline void golden_expect(const char *name, const struct strbuf *made)
{
	char path[4096];
	cleanup_strbuf struct strbuf expected = {};

	golden_path(name, path, sizeof(path));
	if (getenv("GOLDEN_UPDATE")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_int_equal(fwrite(made->text, 1, made->n, f), made->n);
		assert_int_equal(fclose(f), 0);
		fail_msg("%s was written", path);
	}
	golden_read(path, &expected);
	if (expected.n != made->n || memcmp(expected.text, made->text, made->n) != 0)
		fail_msg("%s is not what was made:\n%s", path, made->text);
}

/* Keep of @made the lines that @plain does not have, with their numbers, and the number of lines.
 */
static inline void golden_keep_changes(const struct strbuf *plain, struct strbuf *made)
{
	cleanup_strbuf struct strbuf all = *made, before = {};
	size_t n = 0;
	char *rest = all.text;

	*made = (struct strbuf){};
	strbuf_printf(&before, "\n%s", plain->text);
	for (char *line; (line = strsep(&rest, "\n")) && rest;) {
		cleanup_free char *wanted = xasprintf("\n%s\n", line);

		n++;
		if (!strstr(before.text, wanted))
			strbuf_printf(made, "%zu: %s\n", n, line);
	}
	strbuf_printf(made, "%zu lines\n", n);
}
