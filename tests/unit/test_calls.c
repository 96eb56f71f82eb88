/* rooms: base store; over object */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters as the programs would have left them. */
#include "test.h"

#include "object.h"
#include "store/counters.h"

#define N_TARGETS 10 /* more than a line, and no multiple of one */
#define PER_CPU 16

static uint64_t counters[N_CPUS * PER_CPU];
static uint32_t turn_at_wait;
static struct object o;

static void note_turn(struct object *unused)
{
	turn_at_wait = o.state.turn;
}

static int make_object(void **state)
{
	memset(counters, 0, sizeof(counters));
	o = (struct object){ .maps.calls = counters,
			     .maps.lost_fd = -1,
			     .maps.begun_fd = -1,
			     .on_wait = note_turn };
	return 0;
}

#define TEST_WITH_OBJECT(name) TEST_WITH(name, make_object, NULL)

static void hit(uint32_t cpu, uint32_t target, uint64_t n)
{
	o.maps.calls[call_index(cpu, target, calls_per_cpu(N_TARGETS))] += n;
}

TEST(each_cpu_has_lines_of_its_own)
{
	for (uint32_t n = 1; n < 100; n++) {
		const uint32_t per_cpu = calls_per_cpu(n);

		assert_true(per_cpu >= n && per_cpu < n + CALLS_PER_LINE);
		assert_int_equal(per_cpu % CALLS_PER_LINE, 0);
		assert_int_equal(call_index(1, 0, per_cpu),
				 call_index(0, n - 1, per_cpu) + 1 + per_cpu - n);
	}
}

TEST_WITH_OBJECT(targets_are_added_up_over_all_cpus)
{
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	for (uint32_t target = 0; target < N_TARGETS; target++)
		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
			hit(cpu, target, target * 100 + cpu);

	const uint64_t *counts = calls_read(c);

	for (uint32_t target = 0; target < N_TARGETS; target++)
		assert_int_equal(counts[target], target * 300 + 3);
	calls_free(c);
}

TEST_WITH_OBJECT(intervals_are_differences)
{
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);
	uint64_t losses[LOSS_N];

	o.recursion_misses = 7;
	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_RECURSION], 7);
	hit(0, 9, 5);
	assert_int_equal(calls_read(c)[9], 5);
	hit(1, 9, 2);
	losses_reported(calls_losses(c));
	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_RECURSION], 0);
	hit(2, 9, 4);
	assert_int_equal(calls_read(c)[9], 6);
	assert_int_equal(calls_read(c)[9], 0);
	calls_free(c);
}

TEST_WITH_OBJECT(a_counter_that_turns_over_loses_nothing)
{
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	hit(0, 3, UINT64_MAX);
	(void)calls_read(c);
	hit(0, 3, 10);
	assert_int_equal(calls_read(c)[3], 10);
	calls_free(c);
}

TEST_WITH_OBJECT(the_end_waits_for_programs_that_still_count)
{
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	turn_at_wait = 99;
	calls_start(c);
	assert_int_equal(o.state.turn, FIRST_TURN);
	assert_int_equal(calls_stop(c, NULL), 0);
	assert_int_equal(turn_at_wait, TURN_OFF);
	calls_free(c);
}

TEST(memory_is_that_of_all_cpus)
{
	assert_int_equal(calls_bytes(N_TARGETS, N_CPUS), 8 * N_CPUS * PER_CPU + 16 * N_TARGETS);
	assert_true(calls_bytes(200000, 4096) > UINT32_MAX);
}

TEST_MAIN(NULL, NULL)
