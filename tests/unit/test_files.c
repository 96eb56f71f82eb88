/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <sys/resource.h>

#include "base/files.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own, whose status names the first descriptor that is wrong. */
TEST(all_but_a_few_are_closed)
{
	int kept[] = { 90, -1, STDERR_FILENO, 70, 90, -1 };
	int status = 1;
	const pid_t pid = fork();

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

TEST(counts_what_is_free_and_gives_it_back)
{
	const int lowest = dup(STDIN_FILENO);
	struct rlimit before;
	int held[16];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);

	const struct rlimit few = { (rlim_t)lowest + 16, before.rlim_max };

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
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_MAIN(NULL, NULL)
