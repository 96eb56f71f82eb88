// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/devices.h"

#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "helper/warden.h"

/* Marks a place that is no device. */
#define BELOW_ROOT (1ULL << 63)
#define KIND_SHIFT 60
#define KIND_MASK 7
#define ROOT_SHIFT 32
#define ROOT_MASK ((1U << (KIND_SHIFT - ROOT_SHIFT)) - 1)

#define MOST_DOUBLINGS 5 /* of the pause */

/* Silences that make a place dead, even if all its helpers ended: a slow one may answer later. */
#define MOST_IN_A_ROW 2
#define MOST_IN_ALL 3

struct silent {
	uint64_t place;
	uint64_t since;      /* ns: time of the last silence or try */
	uint64_t silent_at;  /* ns: time of the last silence */
	unsigned n;          /* silences in all */
	unsigned n_in_a_row; /* silences without an answer between them */
	bool is_dead;
	bool has_warned;
	int helpers[WARDEN_MOST_LEFT]; /* pidfds of helpers that hang in it; -1: none */
};

struct devices {
	pthread_mutex_t mutex;
	uint64_t pause_ns;
	struct silent *silent;
	size_t n, capacity;
	struct log_few warnings;
};

uint64_t devices_place_below(enum devices_kind kind, int root, uint32_t user)
{
	return BELOW_ROOT | (uint64_t)kind << KIND_SHIFT |
	       (uint64_t)((uint32_t)root & ROOT_MASK) << ROOT_SHIFT | user;
}

uint64_t devices_place_of_contents(uint64_t dev, uint32_t user)
{
	return devices_place_below(DEVICES_CONTENTS, (int)dev, user);
}

uint64_t devices_place_of_mapped(uint64_t dev, uint32_t user)
{
	return devices_place_below(DEVICES_MAPPED, (int)dev, user);
}

bool devices_is_number(uint64_t dev)
{
	return dev >> 33 == 0;
}

struct devices *devices_new(uint64_t pause_ns)
{
	struct devices *d = xcalloc(1, sizeof(*d));

	(void)pthread_mutex_init(&d->mutex, NULL);
	d->pause_ns = pause_ns;
	return d;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	log_few_end(&d->warnings, "file systems that do not answer");
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < WARDEN_MOST_LEFT; k++)
			cleanup_close_fd(&d->silent[i].helpers[k]);
	(void)pthread_mutex_destroy(&d->mutex);
	free(d->silent);
	free(d);
}

static struct silent *find_silent(const struct devices *d, uint64_t place)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->silent[i].place == place)
			return &d->silent[i];
	return NULL;
}

static bool is_hung_in(struct silent *s)
{
	bool ret = false;

	for (size_t i = 0; i < WARDEN_MOST_LEFT; i++) {
		struct pollfd one = { .fd = s->helpers[i], .events = POLLIN };

		if (one.fd >= 0 && poll(&one, 1, 0) > 0)
			cleanup_close_fd(&s->helpers[i]);
		ret = ret || s->helpers[i] >= 0;
	}
	return ret;
}

/* The array has room for all helpers that the warden leaves behind. */
static void add_helper(struct silent *s, pid_t in_call)
{
	for (size_t i = 0; i < WARDEN_MOST_LEFT; i++)
		if (s->helpers[i] < 0) {
			s->helpers[i] = (int)syscall(SYS_pidfd_open, in_call, 0);
			return;
		}
}

static uint64_t silent_pause_ns(const struct devices *d, const struct silent *s)
{
	const unsigned more = s->n - 1;

	return d->pause_ns << (more < MOST_DOUBLINGS ? more : MOST_DOUBLINGS);
}

static bool is_device_dead(const struct devices *d, struct silent *s)
{
	return s && s->is_dead &&
	       (is_hung_in(s) || clock_ns(CLOCK_MONOTONIC) < s->since + silent_pause_ns(d, s));
}

bool devices_may_ask(struct devices *d, uint64_t place)
{
	(void)pthread_mutex_lock(&d->mutex);

	struct silent *known = find_silent(d, place);
	const bool may = !is_device_dead(d, known);

	if (may && known)
		known->since = clock_ns(CLOCK_MONOTONIC);
	(void)pthread_mutex_unlock(&d->mutex);
	return may;
}

void devices_note_answer(struct devices *d, uint64_t place)
{
	(void)pthread_mutex_lock(&d->mutex);

	struct silent *known = find_silent(d, place);

	if (known && !is_hung_in(known)) {
		known->is_dead = false;
		known->n_in_a_row = 0;
		if (clock_ns(CLOCK_MONOTONIC) - known->silent_at >= d->pause_ns << MOST_DOUBLINGS)
			*known = d->silent[--d->n];
	}
	(void)pthread_mutex_unlock(&d->mutex);
}

static void warn_dead_place(struct devices *d, uint64_t place)
{
	static const char *const kinds[] = {
		[DEVICES_DEBUG_FILES] = "debug files", [DEVICES_PERF_MAPS] = "perf maps"
	};
	const uint32_t user = (uint32_t)place;
	const enum devices_kind kind = place >> KIND_SHIFT & KIND_MASK;

	if (!(place & BELOW_ROOT))
		log_few(&d->warnings,
			"a file system does not answer (device %u:%u): nothing more of it is "
			"opened, and user stacks in its files are cut or have no names",
			major(place), minor(place));
	else if (kind == DEVICES_PATHS)
		log_few(&d->warnings,
			"a file system does not answer: files that user %u's processes have mapped "
			"are not looked for by their paths",
			user);
	else if (kind == DEVICES_MAPPED)
		log_few(&d->warnings,
			"a file system does not answer, or processes of user %u hold their memory "
			"maps: user stacks in files that they map on one device are cut or have "
			"no names",
			user);
	else if (kind == DEVICES_CONTENTS)
		log_few(&d->warnings,
			"a file system does not answer: files of user %u on one device are not "
			"read any more",
			user);
	else
		log_few(&d->warnings,
			"a file system does not answer: no more %s of user %u are looked for in "
			"that root directory",
			kinds[kind], user);
}

static struct silent *add_silent(struct devices *d, uint64_t place)
{
	array_push(d->silent, d->n, d->capacity, ((struct silent){ .place = place }));

	struct silent *ret = &d->silent[d->n - 1];

	for (size_t i = 0; i < WARDEN_MOST_LEFT; i++)
		ret->helpers[i] = -1;
	return ret;
}

/* Returns true if the place is now dead for the first time. */
static bool note_silence(struct devices *d, uint64_t place, pid_t in_call)
{
	struct silent *known = find_silent(d, place);

	if (!known)
		known = add_silent(d, place);
	known->since = known->silent_at = clock_ns(CLOCK_MONOTONIC);
	known->n++;
	known->n_in_a_row++;
	known->is_dead = known->is_dead || in_call || known->n_in_a_row >= MOST_IN_A_ROW ||
			 known->n >= MOST_IN_ALL;
	(void)is_hung_in(known); /* closes pidfds of helpers that have ended */
	if (in_call)
		add_helper(known, in_call);

	const bool is_first = known->is_dead && !known->has_warned;

	known->has_warned = known->has_warned || known->is_dead;
	return is_first;
}

void devices_note_silence(struct devices *d, uint64_t place, pid_t in_call)
{
	if (!place)
		return;
	(void)pthread_mutex_lock(&d->mutex);
	if (note_silence(d, place, in_call))
		warn_dead_place(d, place);
	(void)pthread_mutex_unlock(&d->mutex);
}
