/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Occasions while counting, and their order. */
#include "test.h"

#include <sys/timerfd.h>

#include "tool/wait.h"

#define MS 1000000ULL

/* As if it were set that much later. */
static void set_end(struct waiter *w, uint64_t ns)
{
	const struct itimerspec later = { .it_value = { .tv_sec = (time_t)(ns / 1000000000),
							.tv_nsec = (long)(ns % 1000000000) } };

	assert_int_equal(timerfd_settime(w->end, 0, &later, NULL), 0);
}

/* Counts intervals that are reported before the end. */
static uint64_t count_intervals(uint64_t interval_ns, uint64_t duration_ns, uint64_t end_ns)
{
	struct waiter w;
	unsigned occasions = 0;
	uint64_t n = 0;

	assert_int_equal(waiter_open(&w, NULL), 0);
	assert_int_equal(waiter_set_timers(&w, interval_ns, duration_ns, NULL), 0);
	set_end(&w, end_ns);
	while (!(occasions & OCCASION_TIME_IS_UP)) {
		assert_int_equal(waiter_wait(&w, -1, &occasions, NULL), 0);
		n += occasions & OCCASION_INTERVAL && !(occasions & OCCASION_TIME_IS_UP);
	}
	waiter_close(&w);
	return n;
}

/* In either order of the timers. A busy machine reports fewer, because several expire at once. */
TEST(an_interval_that_ends_with_the_run_is_its_end)
{
	assert_in_range(count_intervals(20 * MS, 60 * MS, 3600000 * MS), 0, 2);
	assert_in_range(count_intervals(20 * MS, 60 * MS, 60 * MS), 0, 2);
	assert_int_equal(count_intervals(20 * MS, 20 * MS, 3600000 * MS), 0);
}

TEST(an_end_within_an_interval_is_told_by_its_own_timer)
{
	assert_in_range(count_intervals(20 * MS, 50 * MS, 50 * MS), 0, 2);
	assert_int_equal(count_intervals(3600000 * MS, 20 * MS, 20 * MS), 0);
}

TEST_MAIN(NULL, NULL)
