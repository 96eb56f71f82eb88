/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "base/cpu_budget.h"

#define MUCH_NS (3600 * NS_PER_S)
#define MOST_NS (20 * NS_PER_S)

/* For how long is there something left? At most for a while. */
static uint64_t work(struct cpu_budget *b)
{
	const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t spent = 0;

	cpu_budget_resume(b);
	while (!cpu_budget_is_spent(b) && spent < MOST_NS)
		spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	cpu_budget_pause(b);
	return spent;
}

static void it_is_spent_by_work_between_resume_and_pause(void **state)
{
	struct cpu_budget b = { .left_ns = NS_PER_S / 10 }, other = { .left_ns = NS_PER_S / 2 };
	uint64_t spent;

	(void)state;
	cpu_budget_resume(&b);
	cpu_budget_pause(&b);
	assert_true(work(&other) >= NS_PER_S / 2);
	assert_true(b.left_ns > NS_PER_S / 20);

	spent = work(&b);
	assert_true(spent >= NS_PER_S / 20 && spent < MOST_NS);
	assert_true(cpu_budget_is_spent(&b));
	assert_string_equal(cpu_budget_reason(&b), "it takes too long");
}

static void a_signal_leaves_all_work_half_a_second(void **state)
{
	struct cpu_budget b = { .left_ns = MUCH_NS }, next = { .left_ns = MUCH_NS };
	struct cpu_budget after = { .left_ns = NS_PER_S };
	sigset_t set;
	int number;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(raise(SIGINT), 0);

	const uint64_t first = work(&b);

	assert_true(first >= NS_PER_S / 4 && first < MOST_NS);
	assert_string_equal(cpu_budget_reason(&b), "interrupted by a signal");
	assert_true(work(&next) < first);
	assert_int_equal(sigwait(&set, &number), 0);

	/* It has been read: what comes now has its own time. */
	assert_true(work(&after) >= NS_PER_S / 2 + NS_PER_S / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_spent_by_work_between_resume_and_pause),
		cmocka_unit_test(a_signal_leaves_all_work_half_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
