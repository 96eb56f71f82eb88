/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Occasions while counting, and their order; pictures of a terminal. */
#include "test.h"

#include "base/clock.h"
#include "tool/output.h"
#include "tool/wait.h"

#define MS 1000000ULL

/* Counts intervals that are reported before the end. */
static uint64_t count_intervals(uint64_t interval_ns, uint64_t duration_ns)
{
	struct waiter w;
	unsigned occasions = 0;
	uint64_t n = 0;

	assert_int_equal(waiter_open(&w, NULL), 0);
	waiter_begin(&w, interval_ns, duration_ns);
	while (!(occasions & OCCASION_TIME_IS_UP)) {
		assert_int_equal(waiter_wait(&w, UINT64_MAX, &occasions, NULL), 0);
		assert_true(clock_ns(CLOCK_MONOTONIC) >= w.end_at ||
			    occasions == OCCASION_INTERVAL);
		n += occasions & OCCASION_INTERVAL;
	}
	assert_int_equal(occasions, OCCASION_TIME_IS_UP);
	waiter_close(&w);
	return n / OCCASION_INTERVAL;
}

/* A busy machine reports fewer, because several are over at once. */
TEST(an_interval_that_ends_with_the_run_or_behind_it_is_its_end)
{
	assert_in_range(count_intervals(20 * MS, 60 * MS), 0, 2);
	assert_int_equal(count_intervals(20 * MS, 20 * MS), 0);
	assert_in_range(count_intervals(20 * MS, 50 * MS), 0, 2);
	assert_int_equal(count_intervals(3600000 * MS, 20 * MS), 0);
}

TEST(nothing_may_happen_until_the_caller_s_time)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + 20 * MS;
	unsigned occasions;
	struct waiter w;

	assert_int_equal(waiter_open(&w, NULL), 0);
	assert_int_equal(waiter_wait(&w, until, &occasions, NULL), 0);
	assert_int_equal(occasions, 0);
	assert_true(clock_ns(CLOCK_MONOTONIC) >= until);
	waiter_close(&w);
}

/* A child that ends when @gate is closed. */
static uint32_t begin_child(int gate[2])
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	close(gate[0]);
	assert_true(pid > 0);
	return (uint32_t)pid;
}

TEST(a_run_ends_with_the_last_of_its_processes)
{
	int gates[2][2];
	uint32_t numbers[] = { begin_child(gates[0]), begin_child(gates[1]) };
	const struct number_list pids = { .numbers = numbers, .n = 2 };
	unsigned occasions;
	struct waiter w;

	close(gates[1][1]);
	assert_int_equal(waiter_open(&w, NULL), 0);
	waiter_watch_processes(&w, &pids);
	assert_int_equal(waiter_wait(&w, 0, &occasions, NULL), 0);
	assert_int_equal(occasions, 0);
	assert_false(waiter_saw_processes_end(&w));
	close(gates[0][1]);
	assert_int_equal(waiter_wait(&w, UINT64_MAX, &occasions, NULL), 0);
	assert_int_equal(occasions, OCCASION_PROCESSES_ENDED);
	assert_true(waiter_saw_processes_end(&w));
	waiter_close(&w);
}

static void expect_picture(const char *text, size_t columns, size_t lines, const char *expected)
{
	cleanup_strbuf struct strbuf to = {};

	live_put(&to, text, columns, lines);
	assert_string_equal(to.text, expected);
}

TEST(a_picture_replaces_the_one_before)
{
	expect_picture("one\n\ntwo\n", 10, 4,
		       "\x1b[H\x1b[Kone\x1b[m\n\x1b[K\x1b[m\n\x1b[Ktwo\x1b[m\n\x1b[J");
}

TEST(the_last_line_tells_how_many_are_not_shown)
{
	expect_picture("1\n2\n3\n", 30, 3, "\x1b[H\x1b[K1\x1b[m\n\x1b[K2\x1b[m\n\x1b[K3\x1b[m");
	expect_picture("1\n2\n3\n4\n", 30, 3,
		       "\x1b[H\x1b[K1\x1b[m\n\x1b[K2\x1b[m\n\x1b[K[2 lines are not shown]\x1b[m");
	expect_picture("1\n2\n", 9, 1, "\x1b[H\x1b[K[2 lines \x1b[m");
}

TEST(a_line_does_not_wrap)
{
	expect_picture("1234567\n", 5, 1, "\x1b[H\x1b[K12345\x1b[m");
	expect_picture("\x1b[31m1234567\x1b[0m\n", 5, 1, "\x1b[H\x1b[K\x1b[31m12345\x1b[m");
	expect_picture("\u251c\u2500 \u4e2d\u6587\n", 5, 1,
		       "\x1b[H\x1b[K\u251c\u2500 \u4e2d\x1b[m");
	expect_picture("\u251c\u2500 \u4e2d\u6587\n", 6, 1,
		       "\x1b[H\x1b[K\u251c\u2500 \u4e2d\x1b[m");
	expect_picture("a\tb\xff\n", 9, 1, "\x1b[H\x1b[Ka\t\x1b[m");
}

TEST_MAIN(NULL, NULL)
