/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"

static void counts_what_is_free_and_gives_it_back(void **state)
{
	const int lowest = dup(STDIN_FILENO);
	const struct rlimit few = { (rlim_t)lowest + 16, (rlim_t)lowest + 16 };
	int held[16];

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);

	const size_t n = files_free(16);

	assert_in_range(n, 8, 15);
	assert_int_equal(files_free(5), 5);
	assert_int_equal(files_hold(held, 4), 4);
	assert_int_equal(files_free(16), n - 4);
	assert_int_equal(files_hold(held + 4, 12), n - 4);
	assert_int_equal(dup(STDIN_FILENO), -1);
	files_release(held, n);
	assert_int_equal(files_free(16), n);
	close(lowest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_is_free_and_gives_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
