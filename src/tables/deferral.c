// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/deferral.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

/* From one look at walks in progress to the next. */
#define LOOK_NS 200000

/*
 * The budget of one process in a window. A hit costs one, and MAPPINGS_OF_HIT mappings that are
 * read cost as much. A walk takes some microseconds, so this is a fifth of a CPU. A walk that did
 * not help costs more: later hits of the process may as well be cut.
 */
#define WINDOW_NS (NS_PER_S / 10)
#define MOST_IN_WINDOW 4000
#define MAPPINGS_OF_HIT 16
#define USELESS_WALK (MOST_IN_WINDOW / 16)

/* --- the ring --- */

void deferred_begin(struct deferred_reader *d, struct deferred_piece *pieces,
		    struct deferred_ring *ring)
{
	*d = (struct deferred_reader){ .pieces = pieces, .ring = ring };
	(void)madvise(pieces, DEFERRED_PIECES * sizeof(*pieces), MADV_DONTDUMP);
	__atomic_store_n(&ring->is_on, 1, __ATOMIC_RELEASE);
}

/* The pieces of former hits are cleared. So a piece without its number is not written yet. */
bool deferred_take(struct deferred_reader *d, struct recorded *ret)
{
	if (__atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) == d->next)
		return false;
	*ret = recorded_at(d->pieces, d->next);
	if (__atomic_load_n(&ret->hit->number, __ATOMIC_ACQUIRE) != d->next + 1)
		return false;
	d->next += ret->hit->n_pieces;
	return true;
}

uint64_t deferred_end(const struct deferred_reader *d)
{
	return d->ring ? __atomic_load_n(&d->ring->head, __ATOMIC_ACQUIRE) : 0;
}

static struct deferred_hit *hit_at(const struct deferred_reader *d, uint64_t first)
{
	return (void *)&d->pieces[first % DEFERRED_PIECES];
}

/* Until its place is free, a cleared hit keeps the number of its pieces. */
void deferred_done(struct deferred_reader *d, const struct recorded *hit)
{
	const uint64_t first = hit->hit->number - 1;
	uint64_t tail = d->ring->tail;
	uint32_t n = hit->hit->n_pieces;

	for (uint64_t piece = first; piece < first + n; piece++)
		memset(&d->pieces[piece % DEFERRED_PIECES], 0, sizeof(*d->pieces));
	hit_at(d, first)->n_pieces = n;
	for (; tail < d->next && !hit_at(d, tail)->number; tail += n) {
		n = hit_at(d, tail)->n_pieces;
		hit_at(d, tail)->n_pieces = 0;
	}
	__atomic_store_n(&d->ring->tail, tail, __ATOMIC_RELEASE);
}

void deferral_begin(struct deferral *d, const struct object *object, struct unwinder *unwinder,
		    struct processes *processes)
{
	const struct object_maps *maps = object_maps(object);

	d->unwinder = unwinder;
	d->processes = processes;
	d->is_on = unwinder && d->give && maps->deferred;
	if (d->is_on)
		deferred_begin(&d->reader, maps->deferred, maps->deferred_ring);
}

/* --- budgets --- */

/* Charge @n hits to the process. False: it has had its share of this window. */
static bool may_walk(struct deferral *d, uint32_t tgid, size_t n, uint64_t now)
{
	struct late_pace *pace = &d->paces[deferred_pause_of(tgid)];

	if (now - pace->window > WINDOW_NS) {
		pace->window = now;
		pace->n = 0;
	}
	pace->n += n < MOST_IN_WINDOW ? (uint32_t)n : MOST_IN_WINDOW;
	if (pace->n <= MOST_IN_WINDOW)
		return true;
	__atomic_store_n(&d->reader.ring->pause_until[deferred_pause_of(tgid)],
			 pace->window + WINDOW_NS, __ATOMIC_RELAXED);
	return false;
}

static bool lacks_table(const uint64_t *words, size_t n)
{
	const uint64_t mark = n && words[n - 1] < STACK_MARK_END
				      ? words[n - 1] & STACK_MARK_CUT_BITS
				      : STACK_MARK_NONE;

	return mark >= STACK_MARK_WALK + UNWIND_END_NO_MAPPING &&
	       mark <= STACK_MARK_WALK + UNWIND_END_NO_TABLE;
}

static void judge_walk(struct deferral *d, const struct late_job *job)
{
	d->n_walked++;
	if (lacks_table(job->words, job->n_words))
		(void)may_walk(d, job->recorded.hit->key.tgid, USELESS_WALK,
			       clock_ns(CLOCK_MONOTONIC));
	else
		d->n_whole += job->words[job->n_words - 1] >= STACK_MARK_END;
}

/* --- from the ring to the thread --- */

/*
 * The mappings at the time of the hit. The caller becomes one more user of them. NULL: they are not
 * known. *@last: those of the hit before, which serve this one if process and epoch are the same.
 */
static struct late_space *space_of_hit(struct deferral *d, const struct late_job *hit,
				       struct late_space **last)
{
	const struct stack_key *of = &hit->recorded.hit->key;
	const uint64_t key = process_key(of->tgid, of->flags >> KEY_LIFE_SHIFT);
	const uint64_t time = hit->recorded.hit->time;
	const uint64_t epoch = processes_epoch(d->processes, key, time);
	struct file_list list;

	if (!*last || (*last)->key != key || (*last)->epoch != epoch || !epoch) {
		late_space_drop(*last);
		*last = NULL;
		processes_look(d->processes, of->tgid);
		if (!processes_list(d->processes, key, time, &list))
			return NULL;
		(void)may_walk(d, of->tgid, list.list.n / MAPPINGS_OF_HIT, hit->since);
		*last = late_space_new(&list);
		(*last)->key = key;
		(*last)->epoch = epoch;
	}
	(*last)->n_users++;
	return *last;
}

static void begin_walk(struct deferral *d, struct late_job *hit, struct late_space **last)
{
	if (!may_walk(d, hit->recorded.hit->key.tgid, 1, hit->since))
		return;
	hit->space = space_of_hit(d, hit, last);
	hit->most_frames = d->most_frames;
	if (hit->space)
		unwinder_walk(d->unwinder, hit);
}

/* Read all records that came before these hits, and only then ask the model about them. */
static void take_hits(struct deferral *d)
{
	const size_t n_before = d->n;
	struct late_space *last = NULL;
	struct recorded recorded;

	while (deferred_take(&d->reader, &recorded)) {
		struct late_job *hit = xcalloc(1, sizeof(*hit));

		hit->recorded = recorded;
		hit->since = clock_ns(CLOCK_MONOTONIC);
		array_push(d->hits, d->n, d->capacity, hit);
	}
	if (d->n == n_before)
		return;
	d->hear(d->context);
	for (size_t i = n_before; i < d->n; i++)
		begin_walk(d, d->hits[i], &last);
	late_space_drop(last);
	unwinder_begin(d->unwinder);
}

/* --- from the thread to the tool --- */

static void give_hit(struct deferral *d, struct late_job *hit, bool is_walked)
{
	const struct recorded *recorded = &hit->recorded;
	uint64_t words[STACK_WORDS];
	const size_t n = is_walked ? hit->n_words : recorded_cut_words(recorded, words);

	if (is_walked)
		judge_walk(d, hit);
	else
		d->n_late++;
	d->give(d->context, recorded, is_walked ? hit->words : words, n);
	hit->is_given = true;
}

static bool is_held(const struct deferral *d, const struct late_job *hit)
{
	return d->hold && (int32_t)(hit->recorded.hit->turn - d->hold) > 0;
}

/* Give the hit if it is ready or late, and free it when nobody uses it. True: it is freed. */
static bool serve_hit(struct deferral *d, struct late_job *hit, uint64_t now, bool is_late)
{
	const bool is_lent = hit->space; /* the thread has the job */
	const bool is_done = !is_lent || late_job_is_done(hit);

	if (!hit->is_given && !is_held(d, hit)) {
		if (is_done)
			give_hit(d, hit, is_lent);
		else if (is_late || now - hit->since > d->patience_ns)
			give_hit(d, hit, false);
	}
	if (!hit->is_given || !is_done)
		return false;
	deferred_done(&d->reader, &hit->recorded);
	late_job_fini(hit);
	free(hit);
	return true;
}

static void serve_hits(struct deferral *d, bool is_late)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (!serve_hit(d, d->hits[i], now, is_late))
			d->hits[n++] = d->hits[i];
	d->n = n;
}

void deferral_serve(struct deferral *d)
{
	if (!d->is_on || d->is_busy)
		return;
	d->is_busy = true;
	take_hits(d);
	serve_hits(d, false);
	d->is_busy = false;
}

/* --- boundaries --- */

/* Is a hit of @turn or before not given yet? */
static bool is_any_due(const struct deferral *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (!d->hits[i]->is_given && !is_held(d, d->hits[i]))
			return true;
	return false;
}

void deferral_settle(struct deferral *d, uint32_t turn, uint64_t most_ns)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + most_ns;
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct pollfd asked = { .fd = d->asked, .events = POLLIN };

	d->hold = turn;
	deferral_serve(d);
	while (is_any_due(d) && clock_ns(CLOCK_MONOTONIC) < until &&
	       ppoll(&asked, 1, &pause, NULL) <= 0)
		deferral_serve(d);
	if (is_any_due(d))
		serve_hits(d, true);
}

bool deferral_has_given(const struct deferral *d, uint64_t end)
{
	for (size_t i = 0; i < d->n; i++)
		if (!d->hits[i]->is_given && d->hits[i]->recorded.hit->number <= end)
			return false;
	return !d->is_on || d->reader.next >= end;
}

void deferral_describe(const struct deferral *d)
{
	const uint64_t n_full = d->is_on ? d->reader.ring->n_full : 0; /* hits, which were cut */

	if (d->is_on)
		log_debug("deferred hits: %" PRIu64 " walked, %" PRIu64 " of these whole; %" PRIu64
			  " given up; %" PRIu64 " found the ring full",
			  d->n_walked, d->n_whole, d->n_late, n_full);
}

void deferral_close(struct deferral *d)
{
	for (size_t i = 0; i < d->n; i++) {
		deferred_done(&d->reader, &d->hits[i]->recorded);
		late_job_fini(d->hits[i]);
		free(d->hits[i]);
	}
	free(d->hits);
}
