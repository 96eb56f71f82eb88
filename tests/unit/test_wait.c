/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Occasions while counting, and their order. */
#include "test.h"

#include "base/clock.h"
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
TEST(an_interval_that_ends_with_the_run_is_its_end)
{
	assert_in_range(count_intervals(20 * MS, 60 * MS), 0, 2);
	assert_int_equal(count_intervals(20 * MS, 20 * MS), 0);
}

TEST(a_run_may_end_within_an_interval)
{
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

TEST_MAIN(NULL, NULL)
