/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "unit/scratch.h"

#include "base/aside.h"
#include "base/clock.h"

#define PATIENT 1200

static void start(struct aside *a, unsigned most_still, aside_work *work)
{
	assert_int_equal(aside_start(a, most_still, work, NULL, NULL), 0);
}

static void send_things(void *argument, int channel)
{
	int pipe_fds[2];

	if (pipe(pipe_fds) < 0 || !aside_write(channel, "before", 6) ||
	    !aside_pass(channel, pipe_fds[0]) || !aside_write(channel, "behind", 6) ||
	    write(pipe_fds[1], "by the pipe", 11) != 11)
		_exit(1);
}

TEST(bytes_and_descriptors_come_in_order)
{
	cleanup(aside_end) struct aside a = ASIDE_NONE;
	cleanup_close int fd = -1;
	char text[12] = "";

	start(&a, PATIENT, send_things);
	assert_int_equal(aside_read(&a, text, 6), 0);
	assert_string_equal(text, "before");
	assert_int_equal(aside_take(&a, &fd), 0);
	assert_int_equal(aside_read(&a, text, 6), 0);
	assert_string_equal(text, "behind");
	assert_int_equal(read(fd, text, 11), 11);
	assert_string_equal(text, "by the pipe");
	assert_int_equal(aside_read(&a, text, 1), -EPIPE);
}

static void stop(void *argument, int channel)
{
	(void)aside_write(channel, "x", 1);
	(void)raise(SIGSTOP);
}

TEST(one_that_hangs_is_left)
{
	cleanup(aside_end) struct aside a = ASIDE_NONE;
	struct error e;
	char byte;

	start(&a, 3, stop);
	assert_int_equal(aside_read(&a, &byte, 1), 0);
	assert_int_equal(aside_read(&a, &byte, 1), -ETIMEDOUT);
	assert_int_equal(aside_explain(-ETIMEDOUT, "/mnt/x", &e), -ETIMEDOUT);
	assert_string_equal(e.text, "/mnt/x: its file system does not answer");
}

static void work_for_a_second(void *argument, int channel)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < NS_PER_S)
		;
	(void)aside_write(channel, "x", 1);
}

TEST(one_that_works_does_not_hang)
{
	cleanup(aside_end) struct aside a = ASIDE_NONE;
	char byte = 0;

	start(&a, 2, work_for_a_second);
	assert_int_equal(aside_read(&a, &byte, 1), 0);
	assert_int_equal(byte, 'x');
}

static void say_something(void *argument, int channel)
{
	(void)dprintf(STDOUT_FILENO, "not seen");
	(void)dprintf(STDERR_FILENO, "said by another process\n");
}

TEST(what_it_says_is_said_by_us)
{
	cleanup_free char *log = scratch_path("log");
	cleanup_close int fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const int saved = dup(STDERR_FILENO);
	struct aside a = ASIDE_NONE;
	char text[64] = "", byte;

	assert_true(fd >= 0 && saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	start(&a, PATIENT, say_something);

	const int err = aside_read(&a, &byte, 1);

	aside_end(&a);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	assert_int_equal(err, -EPIPE);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "said by another process\n");
}

TEST(nothing_is_left_of_it)
{
	struct aside a = ASIDE_NONE;
	char byte;
	pid_t pid;

	start(&a, PATIENT, stop);
	pid = a.pid;
	assert_int_equal(aside_read(&a, &byte, 1), 0);
	aside_end(&a);
	assert_true(kill(pid, 0) < 0 && errno == ESRCH);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST_MAIN(scratch_make, scratch_remove)
