/* rooms: files unwind arch elf base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/log.h"
#include "files/places.h"

#define USER 1000U
#define MOST_NS (3 * NS_PER_S)
#define SPENDING(s)                                                      \
	cleanup(spending_fini) struct spending s = { .most_ns = MOST_NS, \
						     .after = "the rest is not read" }

TEST(cpu_time_is_bounded_for_each_user_but_root)
{
	SPENDING(s);

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(spending_check(&s, USER), 0);
		spending_add(&s, USER, NS_PER_S, NS_PER_S);
		spending_add(&s, 0, MOST_NS, MOST_NS);
	}
	assert_int_equal(spending_check(&s, USER), -EDQUOT);
	assert_int_equal(spending_check(&s, USER + 1), 0);
	assert_int_equal(spending_check(&s, 0), 0);
}

TEST(a_long_wait_counts_as_much_as_cpu_time)
{
	SPENDING(s);

	spending_add(&s, USER, 0, MOST_NS + 1);
	assert_int_equal(spending_check(&s, USER), -EDQUOT);
}

/* Each is below SPENDING_LONG_WAIT_NS. */
TEST(many_waits_are_a_pause_and_are_forgotten)
{
	const uint64_t wait = NS_PER_S / 2;
	unsigned n = 0;
	int err = 0;
	SPENDING(s);

	for (; n < 1000 && (err = spending_check(&s, USER)) == 0; n++)
		spending_add(&s, USER, 0, wait);
	assert_int_equal(err, -EAGAIN);
	assert_true(n >= SPENDING_MOST_WAITS_NS / wait);
	assert_int_equal(spending_check(&s, USER + 1), 0);
	for (unsigned i = 0; i < 6000 && spending_check(&s, USER); i++)
		(void)usleep(1000);
	assert_int_equal(spending_check(&s, USER), 0);
}

/* On a busy machine, each request waits for a CPU. */
TEST(short_waits_do_not_count)
{
	SPENDING(s);

	for (unsigned i = 0; i < 100000; i++)
		spending_add(&s, USER, 1, SPENDING_LEAST_WAIT_NS);
	assert_int_equal(spending_check(&s, USER), 0);
}

static int divert_warnings(void **state)
{
	static struct strbuf said;

	log_hold(&said);
	return 0;
}

TEST_MAIN(divert_warnings, NULL)
