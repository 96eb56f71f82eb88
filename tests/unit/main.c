// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program of several files of tests. It runs the file by whose name it was called, with the
 * arguments: all tests but $UNIT_SKIP, or $UNIT_TEST alone. On SIGQUIT it shows where it is.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "where.h"

/*
 * scripts/unit.mk defines EACH_FILE(DO) as DO(test_one) DO(test_two) ..., and changes the name of
 * each file's main().
 */
#define DECLARE(file) int file##_main(int argc, char **argv);
EACH_FILE(DECLARE)

#define ROW(file) { #file, file##_main },
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} files[] = { EACH_FILE(ROW) };

/* Out of memory is an answer that we want to see, not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	(void)signal(SIGQUIT, show_where);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	cmocka_set_test_filter(getenv("UNIT_TEST"));
	cmocka_set_skip_filter(getenv("UNIT_SKIP"));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].name, name ? name + 1 : argv[0]) == 0)
			return files[i].run(argc, argv);
	(void)fprintf(stderr, "call it by the name of a file of tests\n");
	return 2;
}
