/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/cpu_budget.h"

#define MUCH_NS (3600 * NS_PER_S)

/* Work until there is nothing left. Returns the CPU time that it took. */
static uint64_t work(struct cpu_budget *b)
{
	const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	cpu_budget_resume(b);
	while (!cpu_budget_is_spent(b))
		;
	cpu_budget_pause(b);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

TEST(it_is_spent_by_work_between_resume_and_pause)
{
	struct cpu_budget b = { .left_ns = NS_PER_S / 10 }, other = { .left_ns = NS_PER_S / 2 };
	uint64_t left;

	cpu_budget_resume(&b);
	cpu_budget_pause(&b);
	left = b.left_ns;
	assert_true(work(&other) >= NS_PER_S / 2);
	assert_int_equal(b.left_ns, left);
	assert_true(work(&b) >= left);
	assert_true(cpu_budget_is_spent(&b));
	assert_string_equal(cpu_budget_reason(&b), "it takes too long");
}

TEST(a_signal_leaves_all_work_half_a_second)
{
	struct cpu_budget b = { .left_ns = MUCH_NS }, next = { .left_ns = MUCH_NS };
	struct cpu_budget after = { .left_ns = NS_PER_S };
	sigset_t set;
	int number;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(raise(SIGINT), 0);
	assert_true(work(&b) >= NS_PER_S / 2);
	assert_string_equal(cpu_budget_reason(&b), "interrupted by a signal");
	cpu_budget_resume(&next);
	assert_true(cpu_budget_is_spent(&next));
	assert_int_equal(sigwait(&set, &number), 0);

	/* It has been read: what comes now has its own time. */
	assert_true(work(&after) >= NS_PER_S);
	assert_string_equal(cpu_budget_reason(&after), "it takes too long");
}

TEST_MAIN(NULL, NULL)
