// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/stream.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "store/stacks.h"

/*
 * bpf_ktime_get_ns() reads the kernel's fast clock. While the kernel corrects the clock's rate,
 * that one may differ a little from the clock that we read.
 */
#define CLOCK_MARGIN_NS 20000

/* An unwritten event holds up those of other CPUs for at most this time. */
#define PATIENCE_NS 1000000000

/*
 * On one CPU an event may interrupt another one. Then its place comes later and its time is
 * earlier. At most as many events are in disorder as there are scratch slots.
 */
#define WINDOW 4

/* Free places after this many events, since the caller may take long for each. */
#define FREE_EACH 256

#define MOST_RING_EVENTS 131072
#define FEWEST_RING_EVENTS 64
#define CHUNK_BYTES 208ULL /* piece and bucket, as in store.c */

struct reader {
	struct event_ring *ring;
	const char *events; /* of this CPU: event_bytes() each */
	uint64_t tail;      /* number of events before the first unread one */
	uint64_t head;      /* number of events taken by programs, when last read */
	uint64_t safe;      /* no unread event is earlier */
	uint64_t next;      /* time of the earliest unread one, or @safe */
	uint32_t taken;     /* bit i: event @tail + i was passed on */
	uint32_t at;        /* index of the earliest one in the window */
	bool is_blocked;    /* the earliest one may be one that is not written yet */
};

struct stream {
	const struct object *object;
	struct stream_budget budget;
	uint32_t n_cpus;
	uint32_t turn;
	uint64_t looked_at; /* when the heads were read the last time */
	bool is_stopped;
	stream_find *find; /* NULL: no event is deferred */
	void *find_context;
	struct stacks stacks;
	struct losses losses;
	struct reader readers[]; /* of each CPU */
};

static size_t event_bytes(const struct stream_budget *budget)
{
	return budget->has_value ? sizeof(struct valued_event) : sizeof(struct stream_event);
}

void stream_divide(uint64_t max_bytes, uint32_t n_cpus, struct stream_budget *ret)
{
	uint64_t ring = FEWEST_RING_EVENTS, chunks = 64;
	const uint64_t row = n_cpus * event_bytes(ret); /* a place in the ring of each CPU */

	while (ring < MOST_RING_EVENTS && 2 * ring * row <= max_bytes / 8)
		ring *= 2;
	while (chunks < 1U << 30 && 2 * chunks * CHUNK_BYTES <= max_bytes / 4)
		chunks *= 2;

	uint64_t kernel = ring * row + chunks * CHUNK_BYTES;

	ret->ring_events = (uint32_t)ring;
	ret->max_chunks = (uint32_t)chunks;
	ret->user_bytes = max_bytes > kernel ? max_bytes - kernel : 0;
}

struct stream *stream_new(const struct object *object, const struct stream_budget *budget,
			  uint32_t n_cpus)
{
	struct stream *s = xcalloc(1, sizeof(*s) + n_cpus * sizeof(s->readers[0]));

	s->object = object;
	s->budget = *budget;
	s->n_cpus = n_cpus;
	s->turn = FIRST_TURN;
	s->stacks = (struct stacks){ .object = object, .max_chunks = budget->max_chunks };
	s->losses = (struct losses){ .object = object, .n_cpus = n_cpus };
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
		s->readers[cpu].ring = &object_maps(object)->rings[cpu];
		s->readers[cpu].events = (const char *)object_maps(object)->events +
					 (size_t)cpu * budget->ring_events * event_bytes(budget);
	}
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	stacks_fini(&s->stacks);
	free(s);
}

static void set_stream_turn(const struct stream *s, uint32_t turn)
{
	__atomic_store_n(&object_state(s->object)->turn, turn, __ATOMIC_RELEASE);
}

void stream_start(struct stream *s)
{
	s->looked_at = clock_ns(CLOCK_MONOTONIC) - CLOCK_MARGIN_NS;
	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++)
		s->readers[cpu].safe = s->looked_at;
	set_stream_turn(s, s->turn);
}

int stream_stop(struct stream *s, struct error *e)
{
	set_stream_turn(s, TURN_OFF);
	s->is_stopped = true;
	return object_wait_for_programs(s->object, e);
}

/* --- one CPU's events --- */

static const struct stream_event *event_at(const struct stream *s, const struct reader *r,
					   uint64_t n)
{
	const size_t i = n & (s->budget.ring_events - 1);

	return (const void *)(r->events + i * event_bytes(&s->budget));
}

/*
 * Find the earliest event in the window. A program writes the number last. So when the number is
 * there, the event is complete.
 */
static void find_next_event(const struct stream *s, struct reader *r)
{
	r->next = UINT64_MAX;
	r->is_blocked = false;
	for (uint32_t i = 0; i < WINDOW && r->tail + i < r->head; i++) {
		const struct stream_event *event = event_at(s, r, r->tail + i);
		const uint64_t number = __atomic_load_n(&event->number, __ATOMIC_ACQUIRE);
		const bool is_there = number == r->tail + i + 1;
		uint64_t time = is_there ? event->time : r->safe;

		if (r->taken & 1U << i || time >= r->next)
			continue;
		r->next = time;
		r->at = i;
		r->is_blocked = !is_there;
	}
}

/* The caller has the earliest event; find the next one. */
static void pass_next_event(const struct stream *s, struct reader *r)
{
	r->taken |= 1U << r->at;
	while (r->taken & 1) {
		r->taken >>= 1;
		r->tail++;
	}
	find_next_event(s, r);
}

static void free_places(const struct reader *r)
{
	__atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_RELEASE);
}

/* --- all of them --- */

/*
 * Read all heads. Returns a time that all later events follow. A program adds to its head, then
 * reads the clock; we read the clock, then the heads. So an event that is not in these heads has a
 * later time.
 */
static uint64_t read_heads(struct stream *s)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC), before = s->looked_at;

	s->looked_at = now - CLOCK_MARGIN_NS;
	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++) {
		struct reader *r = &s->readers[cpu];

		/* All events of the last reading are passed on; the others came after it. */
		if (r->tail == r->head)
			r->safe = before;
		r->head = __atomic_load_n(&r->ring->head, __ATOMIC_SEQ_CST);
		find_next_event(s, r);
		if (r->is_blocked && now - r->safe > PATIENCE_NS)
			r->next = UINT64_MAX;
	}
	return s->is_stopped ? UINT64_MAX : s->looked_at;
}

/*
 * Returns the CPU with the earliest event. Lowers *@limit to the time of the second earliest CPU,
 * if that is earlier. NULL if there is no event before *@limit, or it is not written yet.
 */
static struct reader *choose_reader(struct stream *s, uint64_t *limit)
{
	struct reader *first = NULL;
	uint64_t least = *limit;

	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++) {
		struct reader *r = &s->readers[cpu];

		if (r->next < least) {
			*limit = least;
			least = r->next;
			first = r;
		} else if (r->next < *limit) {
			*limit = r->next;
		}
	}
	return first && !first->is_blocked ? first : NULL;
}

void stream_set_find(struct stream *s, stream_find *find, void *context)
{
	s->find = find;
	s->find_context = context;
}

/*
 * Copy the event, with its user stack. False: that is not known yet. A lost event's stack is found,
 * too, or nobody would forget it.
 */
static bool complete_event(const struct stream *s, const struct stream_event *event,
			   struct valued_event *ret)
{
	uint64_t hash = 0;

	*ret = (struct valued_event){ .event = *event };
	if (s->budget.has_value && !(event->state & EVENT_NO_VALUE))
		ret->value = ((const struct valued_event *)event)->value;
	if (!(event->state & EVENT_DEFERRED) || !s->find)
		return true;
	if (!s->find(s->find_context, event->user_stack, s->is_stopped, &hash))
		return false;
	ret->event.user_stack = hash;
	return true;
}

int stream_read(struct stream *s, uint64_t until, stream_take *take, void *context)
{
	uint64_t bound = read_heads(s);
	int result = 0;

	if (bound > until)
		bound = until;

	while (!result) {
		uint64_t limit = bound;
		struct reader *r = choose_reader(s, &limit);

		if (!r)
			break;
		do {
			struct valued_event event;

			if (!complete_event(s, event_at(s, r, r->tail + r->at), &event)) {
				free_places(r);
				return 0;
			}
			if (!(event.event.state & EVENT_LOST))
				result = take(context, &event, (uint32_t)(r - s->readers));
			pass_next_event(s, r);
			if (r->tail % FREE_EACH == 0)
				free_places(r);
		} while (!result && !r->is_blocked && r->next <= limit && r->next < bound);
		free_places(r);
	}
	return result;
}

bool stream_is_read(const struct stream *s, uint64_t until)
{
	bool is_read = s->looked_at >= until;

	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++)
		is_read = is_read && s->readers[cpu].next >= until;
	return is_read;
}

bool stream_sleep(struct stream *s)
{
	uint64_t *is_asleep = (uint64_t *)&object_state(s->object)->is_asleep;

	/* A program adds to its head first, and reads is_asleep last. */
	__atomic_store_n(is_asleep, 1, __ATOMIC_SEQ_CST);
	for (uint32_t cpu = 0; cpu < s->n_cpus; cpu++) {
		const struct reader *r = &s->readers[cpu];

		if (__atomic_load_n(&r->ring->head, __ATOMIC_SEQ_CST) == r->tail)
			continue;
		__atomic_store_n(is_asleep, 0, __ATOMIC_RELAXED);
		return false;
	}
	return true;
}

/* --- stacks --- */

/* As the programs' hashes, it has a random seed, and zeros for the numbers of pieces. */
uint64_t stream_keep(struct stream *s, const uint64_t *words, size_t n)
{
	const uint64_t hash = STACK_HASH(hash_bytes(words, n * sizeof(*words)));

	stacks_keep(&s->stacks, hash, words, n);
	return hash;
}

size_t stream_stack(struct stream *s, uint64_t hash, uint64_t words[STACK_WORDS])
{
	uint32_t number;
	bool has_room = stacks_bytes(&s->stacks) <= s->budget.user_bytes;

	if (!stacks_find(&s->stacks, hash, has_room, &number))
		return stacks_read(&s->stacks, hash, words);
	return stacks_words(&s->stacks, number, words);
}

int stream_make_room(struct stream *s, bool *has_room, struct error *e)
{
	int err = stacks_forget(&s->stacks, e);

	*has_room = !stacks_are_many(&s->stacks);
	__atomic_store_n(&object_state(s->object)->is_noticed, 0, __ATOMIC_RELEASE);
	return err;
}

int stream_forget_all(struct stream *s, stream_take *take, void *context, struct error *e)
{
	set_stream_turn(s, TURN_PAUSE);

	int err = object_wait_for_programs(s->object, e);

	if (err)
		return err;
	s->is_stopped = true; /* no program writes, so all events are ready */
	err = stream_read(s, UINT64_MAX, take, context);
	s->is_stopped = false;
	if (!err)
		err = stacks_forget_all(&s->stacks, e);
	__atomic_store_n(&object_state(s->object)->is_noticed, 0, __ATOMIC_RELEASE);
	/* If the run switched counting off meanwhile, leave it off. */
	s->turn++;
	(void)__atomic_compare_exchange_n(&object_state(s->object)->turn, &(uint32_t){ TURN_PAUSE },
					  s->turn, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return err;
}

size_t stream_bytes(const struct stream *s)
{
	return stacks_bytes(&s->stacks);
}

struct losses *stream_losses(struct stream *s)
{
	return &s->losses;
}
