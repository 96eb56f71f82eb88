/* rooms: base store; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters as the programs would have left them. */
#include "test.h"

#include <bpf/bpf.h>

#include "bpf/object.h"
#include "store/calls.h"

#define N_CPUS 3
#define N_TARGETS 10 /* more than a line, and no multiple of one */
#define PER_CPU 16

/* Stands in for bpf/object.c. */
struct object {
	struct trace_state state;
	uint64_t calls[N_CPUS * PER_CPU];
	uint64_t recursion_misses;
	int lost;
	uint32_t turn_at_wait;
};

struct trace_state *object_state(const struct object *o)
{
	return (struct trace_state *)&o->state;
}

const uint64_t *object_calls(const struct object *o)
{
	return o->calls;
}

int object_lost_fd(const struct object *o)
{
	return o->lost;
}

int object_begun_fd(const struct object *o)
{
	return -1;
}

uint64_t object_recursion_misses(const struct object *o)
{
	return o->recursion_misses;
}

int object_wait_for_programs(const struct object *o, struct error *e)
{
	((struct object *)o)->turn_at_wait = o->state.turn;
	return 0;
}

/* For what other sources of the room need. */
struct event_ring *object_rings(const struct object *o)
{
	return NULL;
}

const struct stream_event *object_events(const struct object *o)
{
	return NULL;
}

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
{
	return -1;
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	return -1;
}

uint64_t *object_hot(const struct object *o)
{
	return NULL;
}

int object_wake_fd(const struct object *o)
{
	return -1;
}

static void hit(struct object *o, uint32_t cpu, uint32_t target, uint64_t n)
{
	o->calls[call_index(cpu, target, calls_per_cpu(N_TARGETS))] += n;
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

TEST(targets_are_added_up_over_all_cpus)
{
	struct object o = { .lost = -1 };
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	for (uint32_t target = 0; target < N_TARGETS; target++)
		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
			hit(&o, cpu, target, target * 100 + cpu);

	const uint64_t *counts = calls_read(c);

	for (uint32_t target = 0; target < N_TARGETS; target++)
		assert_int_equal(counts[target], target * 300 + 3);
	calls_free(c);
}

TEST(intervals_are_differences)
{
	struct object o = { .lost = -1 };
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	hit(&o, 0, 9, 5);
	assert_int_equal(calls_read(c)[9], 5);
	/* Between reading and clearing: for the next report. */
	hit(&o, 1, 9, 2);
	calls_clear(c);
	hit(&o, 2, 9, 4);
	assert_int_equal(calls_read(c)[9], 6);
	/* What was not cleared is there again. */
	assert_int_equal(calls_read(c)[9], 6);
	calls_clear(c);
	assert_int_equal(calls_read(c)[9], 0);
	calls_free(c);
}

TEST(a_counter_that_turns_over_loses_nothing)
{
	struct object o = { .lost = -1 };
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);

	hit(&o, 0, 3, UINT64_MAX);
	(void)calls_read(c);
	calls_clear(c);
	hit(&o, 0, 3, 10);
	assert_int_equal(calls_read(c)[3], 10);
	calls_free(c);
}

TEST(the_end_waits_for_programs_that_still_count)
{
	struct object o = { .lost = -1, .turn_at_wait = 99 };
	struct calls *c = calls_new(&o, N_TARGETS, N_CPUS);
	struct error e = {};

	calls_start(c);
	assert_int_equal(o.state.turn, FIRST_TURN);
	assert_int_equal(calls_stop(c, &e), 0);
	assert_int_equal(o.turn_at_wait, TURN_OFF);
	calls_free(c);
}

TEST(losses_are_told_with_the_counts)
{
	struct object o = { .recursion_misses = 7 };
	const uint32_t reason = LOST_NOT_FOLLOWED;
	uint64_t values[1024] = { 2 }, losses[LOSS_N];

	o.lost = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "test", 4, 8, LOST_IN_KERNEL, NULL);
	assert_true(o.lost >= 0);
	assert_int_equal(bpf_map_update_elem(o.lost, &reason, values, BPF_ANY), 0);

	/* Such a map gives as many values as this machine has CPUs; no counters are read here. */
	struct calls *c = calls_new(&o, N_TARGETS, ARRAY_SIZE(values));

	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_NOT_FOLLOWED], 2);
	assert_int_equal(losses[LOSS_RECURSION], 7);
	calls_clear(c);
	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_NOT_FOLLOWED], 0);
	assert_int_equal(losses[LOSS_RECURSION], 0);
	calls_free(c);
	cleanup_close_fd(&o.lost);
}

TEST(memory_is_that_of_all_cpus)
{
	assert_int_equal(calls_bytes(N_TARGETS, N_CPUS), 8 * N_CPUS * PER_CPU + 24 * N_TARGETS);
	assert_true(calls_bytes(200000, 4096) > UINT32_MAX);
}

TEST_MAIN(NULL, NULL)
