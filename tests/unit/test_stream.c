/* rooms: base store; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rings over plain memory, with no program: the tests write what one would have written. */
#include "test.h"

#include <time.h>

#include <bpf/bpf.h>

#include "bpf/object.h"
#include "store/stream.h"

#define N_CPUS 3
#define N_EVENTS 64
#define FIRST 64 /* entries in the first level of 'stacks' */

/* Stands in for bpf/object.c. */
struct object {
	struct trace_state state;
	struct event_ring rings[N_CPUS];
	struct stream_event events[N_CPUS * N_EVENTS];
	const struct valued_event *valued; /* instead of @events; NULL: none */
	int stacks[STACK_LEVELS], lost;
	void (*while_waiting)(struct object *o); /* what programs still did */
};

struct trace_state *object_state(const struct object *o)
{
	return (struct trace_state *)&o->state;
}

struct event_ring *object_rings(const struct object *o)
{
	return (struct event_ring *)o->rings;
}

const struct stream_event *object_events(const struct object *o)
{
	return o->valued ? &o->valued->event : o->events;
}

int object_stacks_fd(const struct object *o, unsigned level)
{
	return o->stacks[level];
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
	return 0;
}

int object_wait_for_programs(const struct object *o, struct error *e)
{
	if (o->while_waiting)
		o->while_waiting((struct object *)o);
	return 0;
}

/* For what other sources of the room need. */
const uint64_t *object_calls(const struct object *o)
{
	return NULL;
}

int object_counts_fd(const struct object *o, unsigned generation, unsigned level)
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

/* --- a stream to test --- */

static const struct stream_budget ample = { .ring_events = N_EVENTS,
					    .max_chunks = FIRST,
					    .user_bytes = 1 << 20 };

static int make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0);
	int fd = bpf_map_create(type, "test", key_size, value_size, n, &opts);

	assert_true(fd >= 0);
	return fd;
}

static struct object *make_object(void)
{
	struct object *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	o->stacks[0] =
		make_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct stack_chunk), FIRST);
	o->stacks[1] = o->stacks[SPARE_LEVEL] = -1;
	o->lost = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, LOST_IN_KERNEL);
	return o;
}

static void close_object(struct object *o)
{
	cleanup_close_fd(&o->stacks[0]);
	cleanup_close_fd(&o->lost);
	free(o);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Until what is taken now may be given: the margin between the two clocks. */
static void let_time_pass(void)
{
	uint64_t begin = now_ns();

	while (now_ns() - begin < 200000)
		;
}

/* What a program does first. */
static struct stream_event *take_place(struct object *o, uint32_t cpu)
{
	struct event_ring *ring = &o->rings[cpu];
	struct stream_event *event = &o->events[cpu * N_EVENTS + ring->head % N_EVENTS];

	assert_true(ring->head - ring->tail < N_EVENTS);
	ring->head++;
	event->time = now_ns();
	return event;
}

/* And last; @name is the test's. */
static void write_event(struct object *o, struct stream_event *event, uint32_t name)
{
	size_t cpu = (size_t)(event - o->events) / N_EVENTS;
	uint64_t place = (size_t)(event - o->events) % N_EVENTS;
	uint64_t n = o->rings[cpu].head;

	event->tid = name;
	do
		n--;
	while (n % N_EVENTS != place);
	event->number = n + 1;
}

static void put_event(struct object *o, uint32_t cpu, uint32_t name)
{
	write_event(o, take_place(o, cpu), name);
}

struct given {
	uint32_t names[1024], cpus[1024];
	size_t n;
	size_t most; /* refuse more; 0: none */
	struct stream *stream;
};

static int take(void *context, const struct valued_event *event, uint32_t cpu)
{
	struct given *g = context;

	g->names[g->n] = event->event.tid;
	g->cpus[g->n++] = cpu;
	return g->most && g->n >= g->most ? -7 : 0;
}

static void expect(const struct given *g, size_t n, const uint32_t *names)
{
	assert_int_equal(g->n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(g->names[i], names[i]);
}

/* --- tests --- */

TEST(events_of_all_cpus_come_in_the_order_of_their_time)
{
	static const uint32_t order[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};

	stream_start(s);
	assert_true(o->state.turn >= FIRST_TURN);
	put_event(o, 1, 1);
	put_event(o, 0, 2);
	put_event(o, 0, 3);
	put_event(o, 2, 4);
	put_event(o, 1, 5);
	put_event(o, 2, 6);
	put_event(o, 0, 7);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 7, order);
	assert_int_equal(g.cpus[3], 2);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		assert_int_equal(o->rings[cpu].tail, o->rings[cpu].head);
	stream_free(s);
	close_object(o);
}

TEST(what_is_later_waits_for_an_event_that_is_being_written)
{
	static const uint32_t order[] = { 1, 2, 3, 4 };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};
	struct stream_event *slow;

	stream_start(s);
	put_event(o, 0, 1);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	slow = take_place(o, 1);
	put_event(o, 0, 3);
	put_event(o, 2, 4);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	assert_int_equal(g.n, 1);
	write_event(o, slow, 2);
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 4, order);
	stream_free(s);
	close_object(o);
}

/* An interrupt between the taking of a place and the reading of the clock. */
TEST(events_that_interrupted_others_come_before_them)
{
	static const uint32_t order[] = { 3, 2, 1, 4 };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};
	struct stream_event *outer, *middle, *inner;

	stream_start(s);
	outer = take_place(o, 0);
	middle = take_place(o, 0);
	inner = take_place(o, 0);
	inner->time = now_ns();
	middle->time = now_ns();
	outer->time = now_ns();
	write_event(o, inner, 3);
	write_event(o, middle, 2);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	assert_int_equal(g.n, 0);
	write_event(o, outer, 1);
	put_event(o, 1, 4);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 4, order);
	stream_free(s);
	close_object(o);
}

TEST(rings_go_round_many_times)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};

	stream_start(s);
	for (uint32_t i = 0; i < 1000; i++) {
		put_event(o, i % 2, i);
		if (i % 40 == 0) {
			let_time_pass();
			assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
		}
	}
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	assert_int_equal(g.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(g.names[i], i);
	stream_free(s);
	close_object(o);
}

TEST(an_event_whose_stack_was_lost_is_not_given)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};
	struct stream_event *event;

	stream_start(s);
	event = take_place(o, 0);
	event->state = EVENT_LOST;
	write_event(o, event, 1);
	put_event(o, 0, 2);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 1, (const uint32_t[]){ 2 });
	stream_free(s);
	close_object(o);
}

/* The stacks of deferred hits that are walked, by number. */
struct late {
	struct stream *stream;
	bool is_there[4];
	size_t n_must;
};

static bool find_late(void *context, uint64_t number, bool must, uint64_t *ret_hash)
{
	struct late *late = context;

	late->n_must += must;
	if (!late->is_there[number] && !must)
		return false;
	*ret_hash = stream_keep(late->stream, (const uint64_t[]){ 0x1000, 0x2000 + number }, 2);
	return true;
}

static int take_stack(void *context, const struct valued_event *event, uint32_t cpu)
{
	struct given *g = context;
	uint64_t words[STACK_WORDS];

	assert_int_equal(stream_stack(g->stream, event->event.user_stack, words), 2);
	assert_int_equal(words[0], 0x1000);
	g->names[g->n++] = (uint32_t)(words[1] - 0x2000);
	return 0;
}

static void put_deferred(struct object *o, uint32_t cpu, uint32_t number, uint32_t more_state)
{
	struct stream_event *event = take_place(o, cpu);

	event->user_stack = number;
	event->state = EVENT_DEFERRED | more_state;
	write_event(o, event, number);
}

TEST(an_event_waits_for_its_deferred_stack_and_all_later_ones_for_it)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = { .stream = s };
	struct late late = { .stream = s };

	stream_set_find(s, find_late, &late);
	stream_start(s);
	put_deferred(o, 0, 1, 0);
	put_deferred(o, 1, 2, 0);
	put_deferred(o, 0, 3, 0);
	let_time_pass();
	late.is_there[2] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, &g), 0);
	expect(&g, 0, NULL);
	assert_false(stream_sleep(s));
	late.is_there[1] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, &g), 0);
	expect(&g, 2, (const uint32_t[]){ 1, 2 });
	assert_int_equal(late.n_must, 0);
	assert_int_equal(stream_stop(s, &(struct error){}), 0);
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, &g), 0);
	expect(&g, 3, (const uint32_t[]){ 1, 2, 3 });
	assert_int_equal(late.n_must, 1);
	stream_free(s);
	close_object(o);
}

TEST(a_lost_event_takes_its_deferred_stack_along)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = { .stream = s };
	struct late late = { .stream = s };

	stream_set_find(s, find_late, &late);
	stream_start(s);
	put_deferred(o, 0, 1, EVENT_LOST);
	put_deferred(o, 0, 2, 0);
	late.is_there[2] = true;
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, &g), 0);
	expect(&g, 0, NULL);
	late.is_there[1] = true;
	assert_int_equal(stream_read(s, UINT64_MAX, take_stack, &g), 0);
	expect(&g, 1, (const uint32_t[]){ 2 });
	stream_free(s);
	close_object(o);
}

TEST(a_refusal_ends_the_reading_and_nothing_is_given_twice)
{
	static const uint32_t order[] = { 1, 2, 3 };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = { .most = 2 };

	stream_start(s);
	for (uint32_t i = 1; i <= 3; i++)
		put_event(o, i % N_CPUS, i);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), -7);
	g.most = 0;
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 3, order);
	stream_free(s);
	close_object(o);
}

TEST(after_the_end_all_is_given_at_once)
{
	static const uint32_t order[] = { 1, 2 };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};
	struct error e;

	stream_start(s);
	put_event(o, 0, 1);
	put_event(o, 1, 2);
	assert_int_equal(stream_stop(s, &e), 0);
	assert_int_equal(o->state.turn, TURN_OFF);
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	expect(&g, 2, order);
	stream_free(s);
	close_object(o);
}

TEST(it_sleeps_only_when_nothing_is_there)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	struct given g = {};

	stream_start(s);
	assert_true(stream_sleep(s));
	assert_int_equal(o->state.is_asleep, 1);
	(void)take_place(o, 2);
	assert_false(stream_sleep(s));
	assert_int_equal(o->state.is_asleep, 0);
	write_event(o, &o->events[2 * N_EVENTS], 1);
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take, &g), 0);
	assert_true(stream_sleep(s));
	stream_free(s);
	close_object(o);
}

/* --- stacks --- */

static uint64_t put_stack(struct object *o, uint64_t name, uint64_t word)
{
	const uint64_t hash = STACK_HASH(name << 8);
	const struct stack_chunk chunk = { .words = { word, word + 1 } };

	assert_int_equal(bpf_map_update_elem(o->stacks[0], &hash, &chunk, BPF_ANY), 0);
	o->state.n_chunks++;
	return hash;
}

static bool has_stack(const struct object *o, uint64_t hash)
{
	struct stack_chunk chunk;

	return bpf_map_lookup_elem(o->stacks[0], &hash, &chunk) == 0;
}

TEST(room_is_made_of_stacks_that_are_known_here)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	uint64_t words[STACK_WORDS], known[FIRST / 2], unknown;
	bool has_room = false;
	struct error e;

	stream_start(s);
	unknown = put_stack(o, 1000, 0x9000);
	for (uint64_t i = 0; i < FIRST / 2; i++) {
		known[i] = put_stack(o, i + 1, 0x1000 + i);
		assert_int_equal(stream_stack(s, known[i], words), 2);
	}
	o->state.is_noticed = 1;
	assert_int_equal(stream_make_room(s, &has_room, &e), 0);
	assert_true(has_room);
	assert_int_equal(o->state.is_noticed, 0);
	assert_int_equal(o->state.n_chunks, 1);
	assert_true(has_stack(o, unknown));
	for (uint64_t i = 0; i < FIRST / 2; i++) {
		assert_false(has_stack(o, known[i]));
		assert_int_equal(stream_stack(s, known[i], words), 2);
		assert_int_equal(words[0], 0x1000 + i);
	}
	stream_free(s);
	close_object(o);
}

TEST(where_there_is_no_room_here_stacks_are_read_from_the_kernel)
{
	const struct stream_budget none = { .ring_events = N_EVENTS, .max_chunks = FIRST };
	struct object *o = make_object();
	struct stream *s = stream_new(o, &none, N_CPUS);
	uint64_t words[STACK_WORDS];
	uint64_t first, second;

	stream_start(s);
	first = put_stack(o, 1, 0x1000);
	second = put_stack(o, 2, 0x2000);
	assert_int_equal(stream_stack(s, first, words), 2);
	size_t bytes = stream_bytes(s);
	assert_int_equal(stream_stack(s, second, words), 2);
	assert_int_equal(words[0], 0x2000);
	assert_int_equal(stream_bytes(s), bytes);
	stream_free(s);
	close_object(o);
}

/* A program that ran when the pause began has put one event more. */
static void put_last_event(struct object *o)
{
	assert_int_equal(o->state.turn, TURN_PAUSE);
	put_event(o, 1, 2);
}

TEST(all_is_forgotten_when_the_events_before_were_given)
{
	struct object *o = make_object();
	struct stream *s = stream_new(o, &ample, N_CPUS);
	uint64_t words[STACK_WORDS], hash, unknown;
	struct given g = {};
	struct error e;
	uint32_t turn;

	stream_start(s);
	turn = o->state.turn;
	hash = put_stack(o, 1, 0x1000);
	unknown = put_stack(o, 2, 0x1000);
	assert_int_equal(stream_stack(s, hash, words), 2);
	put_event(o, 0, 1);
	o->while_waiting = put_last_event;
	assert_int_equal(stream_forget_all(s, take, &g, &e), 0);
	expect(&g, 2, (const uint32_t[]){ 1, 2 });
	assert_false(has_stack(o, hash));
	assert_false(has_stack(o, unknown));
	assert_int_equal(o->state.n_chunks, 0);
	assert_true(o->state.turn > turn);
	(void)put_stack(o, 1, 0x5000);
	assert_int_equal(stream_stack(s, hash, words), 2);
	assert_int_equal(words[0], 0x5000);
	stream_free(s);
	close_object(o);
}

static int take_value(void *context, const struct valued_event *event, uint32_t cpu)
{
	struct given *g = context;

	g->names[g->n] = (uint32_t)(event->value + 1000);
	g->cpus[g->n++] = cpu;
	return 0;
}

/* The ring's places are larger then. */
TEST(an_event_brings_its_value)
{
	static const uint32_t order[] = { 1007, 990, 1000, 1008 };
	static struct valued_event events[N_CPUS * N_EVENTS];
	struct stream_budget budget = ample;
	struct object *o = make_object();
	struct stream *s;
	struct given g = {};

	budget.has_value = true;
	o->valued = events;
	s = stream_new(o, &budget, N_CPUS);
	stream_start(s);
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t cpu = i % 2 ? 2 : 0;
		struct event_ring *ring = &o->rings[cpu];
		struct valued_event *event = &events[cpu * N_EVENTS + ring->head++];

		event->event.time = now_ns();
		event->event.state = i == 2 ? EVENT_NO_VALUE : 0;
		event->value = i == 1 ? -10 : 7 + (int)i / 3;
		event->event.number = ring->head;
	}
	let_time_pass();
	assert_int_equal(stream_read(s, UINT64_MAX, take_value, &g), 0);
	expect(&g, 4, order);
	assert_int_equal(g.cpus[1], 2);
	stream_free(s);
	close_object(o);
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
