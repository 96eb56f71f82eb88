/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own, whose status names the first descriptor that is wrong. */
static void all_but_a_few_are_closed(void **state)
{
	int kept[] = { 90, -1, STDERR_FILENO, 70, 90, -1 };
	int status = 1;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		for (int fd = 69; fd <= 91; fd++)
			if (dup2(STDERR_FILENO, fd) != fd)
				_exit(100);
		files_close_but(kept, 6);
		for (int fd = 0; fd < 200; fd++)
			if (is_open(fd) != (fd == STDERR_FILENO || fd == 70 || fd == 90))
				_exit(fd + 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_but_a_few_are_closed),
		cmocka_unit_test(counts_what_is_free_and_gives_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
