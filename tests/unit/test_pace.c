/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How often a process is read again, by a clock of the test's own. */
#include "test.h"

#include "base/clock.h"
#include "base/pace.h"

#define MS 1000000ULL
#define BURST (PACE_CREDIT_NS / PACE_SHARE)
#define START (1000 * NS_PER_S)
#define TGID 7

/* Ask each @every ns for @length ns. Each reading takes @cost. Returns the number of readings. */
static uint64_t read_often(struct pace *p, uint64_t every, uint64_t length, uint64_t cost)
{
	uint64_t n = 0, now = START;

	while (now < START + length) {
		if (pace_may_read(p, TGID, now)) {
			now += cost;
			pace_pay(p, TGID, now, cost);
			n++;
		}
		now += every;
	}
	return n;
}

TEST(a_dear_process_is_read_for_a_share_of_the_time)
{
	const uint64_t length = 600 * NS_PER_S;

	for (uint64_t cost = MS / 100; cost <= 1000 * MS; cost *= 10) {
		struct pace p = {};
		const uint64_t n = read_often(&p, MS / 10, length, cost);

		assert_true((n - 1) * cost * PACE_SHARE <= length + PACE_CREDIT_NS);
		assert_true((n + 1) * (cost * PACE_SHARE + MS) >= length ||
			    cost * PACE_SHARE < MS / 10);
		pace_fini(&p);
	}
}

TEST(a_program_that_starts_is_read_as_often_as_it_maps)
{
	cleanup(pace_fini) struct pace p = {};

	assert_int_equal(read_often(&p, MS, 100 * MS, MS / 5), 84); /* all: 100 ms / 1.2 ms */
	assert_int_equal(pace_next_due(&p), UINT64_MAX);
}

TEST(a_reading_that_is_put_off_comes_due_once)
{
	cleanup(pace_fini) struct pace p = {};

	pace_pay(&p, TGID, START, BURST + 40 * MS);
	assert_int_equal(pace_next_due(&p), UINT64_MAX); /* nobody has asked */
	assert_false(pace_may_read(&p, TGID, START + MS));
	assert_true(pace_may_read(&p, TGID + 1, START + MS));
	assert_int_equal(pace_next_due(&p), START + 1000 * MS); /* 25 * 40 ms */
	assert_int_equal(pace_take_due(&p, START + 999 * MS), 0);
	assert_int_equal(pace_take_due(&p, START + 1000 * MS), TGID);
	assert_int_equal(pace_take_due(&p, START + 1000 * MS), 0);
	assert_true(pace_may_read(&p, TGID, START + 1000 * MS));
}

TEST(a_process_that_ended_owes_nothing)
{
	cleanup(pace_fini) struct pace p = {};

	pace_pay(&p, TGID, START, BURST + 40 * MS);
	assert_false(pace_may_read(&p, TGID, START + MS));
	pace_forget(&p, TGID);
	assert_int_equal(pace_next_due(&p), UINT64_MAX);
	assert_true(pace_may_read(&p, TGID, START + MS));
}

TEST(who_has_paid_takes_no_memory)
{
	cleanup(pace_fini) struct pace p = {};

	for (uint32_t tgid = 1; tgid < 100000; tgid++)
		pace_pay(&p, tgid, START + tgid * MS, MS / 10);
	assert_in_range(p.n, 1, 4);
}

TEST_MAIN(NULL, NULL)
