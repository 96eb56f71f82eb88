/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <time.h>

#include "base/clock.h"
#include "tool/unmapped.h"

#define PID 1234

static bool note(struct unmapped *u, uint32_t tgid, bool is_walked)
{
	const struct notice notice = { .type = NOTICE_UNMAPPED,
				       .tgid = tgid,
				       .is_walked = is_walked };

	return unmapped_note(u, &notice);
}

/* How long until the programs are asked for the next notice, in ms; 1,000: they are not. */
static unsigned pause_of(struct unmapped *u, struct trace_state *state, __u64 *told)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned n = 0;

	*told = 1;
	for (unmapped_ask(u, state); *told && n < 1000; unmapped_ask(u, state), n++)
		(void)nanosleep(&ms, NULL);
	return n;
}

TEST(a_list_that_is_missing_is_read_at_once)
{
	struct unmapped u = {};

	unmapped_reset(&u);
	assert_true(note(&u, PID, false));
	assert_true(note(&u, PID, false));
	assert_false(note(&u, 0, false)); /* only that something was mapped is known */
	assert_true(unmapped_is_busy(&u));
}

TEST(one_that_the_kernel_can_replace_is_read_at_the_second_notice)
{
	struct unmapped u = {};

	unmapped_reset(&u);
	for (uint32_t pid = PID; pid < PID + PASSING_PROCESSES; pid++)
		assert_false(note(&u, pid, true));
	for (uint32_t pid = PID; pid < PID + PASSING_PROCESSES; pid++)
		assert_true(note(&u, pid, true));
	assert_false(note(&u, PID + PASSING_PROCESSES, true)); /* takes the place of PID */
	assert_false(note(&u, PID, true));
	assert_true(note(&u, PID, false));
	assert_true(note(&u, PID, true));
}

TEST(such_a_notice_does_not_hold_up_others)
{
	struct trace_state trace = {};
	struct unmapped u = {};

	unmapped_reset(&u);
	(void)note(&u, PID, true);
	assert_false(unmapped_is_busy(&u));
	assert_true(pause_of(&u, &trace, &trace.is_unmapped[true]) < 1000);
	assert_int_equal(pause_of(&u, &trace, &trace.is_unmapped[false]), 1000);
}

TEST(the_pause_grows_until_something_is_mapped)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	struct unmapped u = {};

	unmapped_reset(&u);
	for (int i = 0; i < 8; i++)
		(void)note(&u, PID, false);
	assert_true(u.ask_at > began + NS_PER_S / 10);
	unmapped_reset(&u);
	(void)note(&u, PID, false);
	assert_true(u.ask_at < clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 100);
}

TEST_MAIN(NULL, NULL)
