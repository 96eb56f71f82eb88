/* rooms: base store; over object */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rings over plain memory, with no program: the tests write what one would have written. */
#include "test.h"

#include "base/clock.h"
#include "object.h"
#include "store/stream.h"

#define N_EVENTS 64
#define FIRST 64 /* entries in the first level of 'stacks' */

static const struct stream_budget ample = { .ring_events = N_EVENTS,
					    .max_chunks = FIRST,
					    .user_bytes = 1 << 20 };

static struct event_ring rings[N_CPUS];
static struct stream_event events[N_CPUS * N_EVENTS];
static struct object o;
static struct stream *s;

static struct given {
	uint32_t names[1024], cpus[1024];
	size_t n;
	size_t most; /* refuse more; 0: none */
} g;

static void start(const struct stream_budget *budget)
{
	stream_free(s);
	s = stream_new(&o, budget, N_CPUS);
	stream_start(s);
}

static int make_stream(void **state)
{
	memset(rings, 0, sizeof(rings));
	memset(events, 0, sizeof(events));
	g = (struct given){};
	o = (struct object){ .maps.rings = rings, .maps.events = events, .maps.begun_fd = -1 };
	o.stacks[0] =
		make_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct stack_chunk), FIRST);
	o.stacks[1] = o.stacks[SPARE_LEVEL] = -1;
	o.maps.lost_fd = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, LOST_IN_KERNEL);
	start(&ample);
	return 0;
}

static int free_stream(void **state)
{
	stream_free(s);
	s = NULL;
	cleanup_close_fd(&o.stacks[0]);
	cleanup_close_fd(&o.maps.lost_fd);
	return 0;
}

#define TEST_WITH_STREAM(name) TEST_WITH(name, make_stream, free_stream)

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Until what is taken now may be given: the margin between the two clocks. */
static void let_time_pass(void)
{
	uint64_t begin = now_ns();

	while (now_ns() - begin < 200000)
		;
}

/* What a program does first. */
static struct stream_event *take_place(uint32_t cpu)
{
	struct event_ring *ring = &o.maps.rings[cpu];
	struct stream_event *event = &events[cpu * N_EVENTS + ring->head % N_EVENTS];

	assert_true(ring->head - ring->tail < N_EVENTS);
	ring->head++;
	event->time = now_ns();
	return event;
}

/* And last; @name is the test's. */
static void write_event(struct stream_event *event, uint32_t name)
{
	size_t cpu = (size_t)(event - events) / N_EVENTS;
	uint64_t place = (size_t)(event - events) % N_EVENTS;
	uint64_t n = o.maps.rings[cpu].head;

	event->tid = name;
	do
		n--;
	while (n % N_EVENTS != place);
	event->number = n + 1;
}

static void put_event(uint32_t cpu, uint32_t name)
{
	write_event(take_place(cpu), name);
}

static int take(void *context, const struct valued_event *event, uint32_t cpu)
{
	g.names[g.n] = event->event.tid;
	g.cpus[g.n++] = cpu;
	return g.most && g.n >= g.most ? -7 : 0;
}

static void read_events(void)
{
	assert_int_equal(stream_read(s, UINT64_MAX, take, NULL), 0);
}

static void read_later(void)
{
	let_time_pass();
	read_events();
}

static void expect(size_t n, const uint32_t *names)
{
	assert_int_equal(g.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(g.names[i], names[i]);
}

/* --- tests --- */

TEST_WITH_STREAM(events_of_all_cpus_come_in_the_order_of_their_time)
{
	static const uint32_t order[] = { 1, 2, 3, 4, 5, 6, 7 };

	assert_true(o.state.turn >= FIRST_TURN);
	put_event(1, 1);
	put_event(0, 2);
	put_event(0, 3);
	put_event(2, 4);
	put_event(1, 5);
	put_event(2, 6);
	put_event(0, 7);
	read_later();
	expect(7, order);
	assert_int_equal(g.cpus[3], 2);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		assert_int_equal(o.maps.rings[cpu].tail, o.maps.rings[cpu].head);
}

TEST_WITH_STREAM(what_is_later_waits_for_an_event_that_is_being_written)
{
	struct stream_event *slow;

	put_event(0, 1);
	read_later();
	slow = take_place(1);
	put_event(0, 3);
	put_event(2, 4);
	read_later();
	read_events();
	assert_int_equal(g.n, 1);
	write_event(slow, 2);
	read_events();
	expect(4, (const uint32_t[]){ 1, 2, 3, 4 });
}

/* An interrupt between the taking of a place and the reading of the clock. */
TEST_WITH_STREAM(events_that_interrupted_others_come_before_them)
{
	struct stream_event *outer, *middle, *inner;

	outer = take_place(0);
	middle = take_place(0);
	inner = take_place(0);
	inner->time = now_ns();
	middle->time = now_ns();
	outer->time = now_ns();
	write_event(inner, 3);
	write_event(middle, 2);
	read_later();
	assert_int_equal(g.n, 0);
	write_event(outer, 1);
	put_event(1, 4);
	read_later();
	expect(4, (const uint32_t[]){ 3, 2, 1, 4 });
}

TEST_WITH_STREAM(rings_go_round_many_times)
{
	for (uint32_t i = 0; i < 1000; i++) {
		put_event(i % 2, i);
		if (i % 40 == 0) {
			read_later();
		}
	}
	read_later();
	assert_int_equal(g.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(g.names[i], i);
}

/* The stacks of deferred hits that are walked, by number. */
struct late {
	bool is_there[4];
	size_t n_must;
};

static bool find_late(void *context, uint64_t number, bool must, uint64_t *ret_hash)
{
	struct late *late = context;

	late->n_must += must;
	if (!late->is_there[number] && !must)
		return false;
	*ret_hash = stream_keep(s, (const uint64_t[]){ 0x1000, 0x2000 + number }, 2);
	return true;
}

static int take_stack(void *context, const struct valued_event *event, uint32_t cpu)
{
	uint64_t words[STACK_WORDS];

	assert_int_equal(stream_stack(s, event->event.user_stack, words), 2);
	assert_int_equal(words[0], 0x1000);
	g.names[g.n++] = (uint32_t)(words[1] - 0x2000);
	return 0;
}

static void put_deferred(uint32_t cpu, uint32_t number, uint32_t more_state)
{
	struct stream_event *event = take_place(cpu);

	event->user_stack = number;
	event->state = EVENT_DEFERRED | more_state;
	write_event(event, number);
}

TEST_WITH_STREAM(an_event_waits_for_its_deferred_stack_and_all_later_ones_for_it)
{
	struct late late = {};

	stream_set_find(s, find_late, &late);
	put_deferred(0, 1, 0);
	put_deferred(1, 2, 0);
	put_deferred(0, 3, 0);
	let_time_pass();
	late.is_there[2] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, NULL), 0);
	expect(0, NULL);
	assert_false(stream_sleep(s));
	late.is_there[1] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, NULL), 0);
	expect(2, (const uint32_t[]){ 1, 2 });
	assert_int_equal(late.n_must, 0);
	assert_int_equal(stream_stop(s, &(struct error){}), 0);
	assert_int_equal(o.state.turn, TURN_OFF);
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, NULL), 0);
	expect(3, (const uint32_t[]){ 1, 2, 3 });
	assert_int_equal(late.n_must, 1);
}

TEST_WITH_STREAM(a_lost_event_takes_its_deferred_stack_along)
{
	struct late late = {};

	stream_set_find(s, find_late, &late);
	put_deferred(0, 1, EVENT_LOST);
	put_deferred(0, 2, 0);
	late.is_there[2] = true;
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, NULL), 0);
	expect(0, NULL);
	late.is_there[1] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, NULL), 0);
	expect(1, (const uint32_t[]){ 2 });
}

TEST_WITH_STREAM(a_refusal_ends_the_reading_and_nothing_is_given_twice)
{
	g.most = 2;

	for (uint32_t i = 1; i <= 3; i++)
		put_event(i % N_CPUS, i);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, NULL), -7);
	g.most = 0;
	read_events();
	expect(3, (const uint32_t[]){ 1, 2, 3 });
}

TEST_WITH_STREAM(it_sleeps_only_when_nothing_is_there)
{
	assert_true(stream_sleep(s));
	assert_int_equal(o.state.is_asleep, 1);
	(void)take_place(2);
	assert_false(stream_sleep(s));
	assert_int_equal(o.state.is_asleep, 0);
	write_event(&events[2 * N_EVENTS], 1);
	read_later();
	assert_true(stream_sleep(s));
}

/* --- stacks --- */

static uint64_t put_stack(uint64_t name, uint64_t word)
{
	const uint64_t hash = STACK_HASH(name << 8);
	const struct stack_chunk chunk = { .words = { word, word + 1 } };

	assert_int_equal(bpf_map_update_elem(o.stacks[0], &hash, &chunk, BPF_ANY), 0);
	o.state.n_chunks++;
	return hash;
}

static bool has_stack(uint64_t hash)
{
	struct stack_chunk chunk;

	return bpf_map_lookup_elem(o.stacks[0], &hash, &chunk) == 0;
}

TEST_WITH_STREAM(room_is_made_of_stacks_that_are_known_here)
{
	uint64_t words[STACK_WORDS], known[FIRST / 2];
	bool has_room = false;

	const uint64_t unknown = put_stack(1000, 0x9000);

	for (uint64_t i = 0; i < FIRST / 2; i++) {
		known[i] = put_stack(i + 1, 0x1000 + i);
		assert_int_equal(stream_stack(s, known[i], words), 2);
	}
	o.state.is_noticed = 1;
	assert_int_equal(stream_make_room(s, &has_room, NULL), 0);
	assert_true(has_room);
	assert_int_equal(o.state.is_noticed, 0);
	assert_int_equal(o.state.n_chunks, 1);
	assert_true(has_stack(unknown));
	for (uint64_t i = 0; i < FIRST / 2; i++) {
		assert_false(has_stack(known[i]));
		assert_int_equal(stream_stack(s, known[i], words), 2);
		assert_int_equal(words[0], 0x1000 + i);
	}
}

TEST_WITH_STREAM(where_there_is_no_room_here_stacks_are_read_from_the_kernel)
{
	const struct stream_budget none = { .ring_events = N_EVENTS, .max_chunks = FIRST };
	uint64_t words[STACK_WORDS];
	uint64_t first, second;

	start(&none);
	first = put_stack(1, 0x1000);
	second = put_stack(2, 0x2000);
	assert_int_equal(stream_stack(s, first, words), 2);
	size_t bytes = stream_bytes(s);
	assert_int_equal(stream_stack(s, second, words), 2);
	assert_int_equal(words[0], 0x2000);
	assert_int_equal(stream_bytes(s), bytes);
}

/* A program that ran when the pause began has put one event more. */
static void put_last_event(struct object *unused)
{
	assert_int_equal(o.state.turn, TURN_PAUSE);
	put_event(1, 2);
}

TEST_WITH_STREAM(all_is_forgotten_when_the_events_before_were_given)
{
	const uint32_t turn = o.state.turn;
	const uint64_t hash = put_stack(1, 0x1000), unknown = put_stack(2, 0x1000);
	uint64_t words[STACK_WORDS];

	assert_int_equal(stream_stack(s, hash, words), 2);
	put_event(0, 1);
	o.on_wait = put_last_event;
	assert_int_equal(stream_forget_all(s, take, NULL, NULL), 0);
	expect(2, (const uint32_t[]){ 1, 2 });
	assert_false(has_stack(hash));
	assert_false(has_stack(unknown));
	assert_int_equal(o.state.n_chunks, 0);
	assert_true(o.state.turn > turn);
	(void)put_stack(1, 0x5000);
	assert_int_equal(stream_stack(s, hash, words), 2);
	assert_int_equal(words[0], 0x5000);
}

static int take_value(void *context, const struct valued_event *event, uint32_t cpu)
{
	g.names[g.n] = (uint32_t)(event->value + 1000);
	g.cpus[g.n++] = cpu;
	return 0;
}

/* The ring's places are larger then. */
TEST_WITH_STREAM(an_event_brings_its_value)
{
	static struct valued_event valued[N_CPUS * N_EVENTS];
	struct stream_budget budget = ample;

	budget.has_value = true;
	o.maps.events = &valued->event;
	start(&budget);
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t cpu = i % 2 ? 2 : 0;
		struct event_ring *ring = &o.maps.rings[cpu];
		struct valued_event *event = &valued[cpu * N_EVENTS + ring->head++];

		event->event.time = now_ns();
		event->event.state = i == 2 ? EVENT_NO_VALUE : 0;
		event->value = i == 1 ? -10 : 7 + (int)i / 3;
		event->event.number = ring->head;
	}
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take_value, NULL), 0);
	expect(4, (const uint32_t[]){ 1007, 990, 1000, 1008 });
	assert_int_equal(g.cpus[1], 2);
}

TEST(the_budget_is_divided_for_any_machine)
{
	for (uint64_t bytes = 1 << 20; bytes <= 1ULL << 32; bytes *= 4) {
		for (uint32_t n_cpus = 1; n_cpus <= 512; n_cpus *= 8) {
			struct stream_budget b = {}, valued = { .has_value = true };

			stream_divide(bytes, n_cpus, &b);
			stream_divide(bytes, n_cpus, &valued);
			assert_true(valued.ring_events <= b.ring_events);
			assert_int_equal(b.ring_events & (b.ring_events - 1), 0);
			assert_true(b.ring_events >= 64 && b.max_chunks >= 64);
			if (bytes >= 64ULL << 20)
				assert_true((uint64_t)b.ring_events * n_cpus * 64 <= bytes / 8);
		}
	}
}

TEST_MAIN(NULL, NULL)
