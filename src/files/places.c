// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/places.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

/* A place is a step, 28 bits of a number, and a user. Devices with the same bits are one place. */
#define STEP_SHIFT 60
#define NUMBER_SHIFT 32

#define PAUSE_NS (3 * NS_PER_S)
#define MOST_DOUBLINGS 5 /* of the pause */

struct silent {
	uint64_t place;
	uint64_t until; /* ns: no question before */
	unsigned n;     /* silences */
	int n_hung;     /* children that hang in it */
};

struct places {
	pthread_mutex_t mutex;
	struct silent *silent;
	size_t n, capacity;
	struct log_few warnings;
};

struct places *places_new(void)
{
	struct places *p = xcalloc(1, sizeof(*p));

	(void)pthread_mutex_init(&p->mutex, NULL);
	return p;
}

void places_free(struct places *p)
{
	if (!p)
		return;
	log_few_end(&p->warnings, "file systems that do not answer");
	(void)pthread_mutex_destroy(&p->mutex);
	free(p->silent);
	free(p);
}

uint64_t place_of(enum step step, uint64_t number, uint32_t user)
{
	return (uint64_t)step << STEP_SHIFT | (number & PLACE_NUMBERS) << NUMBER_SHIFT | user;
}

static struct silent *find_silent(const struct places *p, uint64_t place)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->silent[i].place == place)
			return &p->silent[i];
	return NULL;
}

static bool is_silent(const struct silent *s)
{
	return s->n_hung > 0 || clock_ns(CLOCK_MONOTONIC) < s->until;
}

bool places_may_ask(struct places *p, uint64_t place)
{
	(void)pthread_mutex_lock(&p->mutex);

	const struct silent *known = find_silent(p, place);
	const bool may = !known || !is_silent(known);

	(void)pthread_mutex_unlock(&p->mutex);
	return may;
}

size_t places_silent_devices(struct places *p, uint32_t user, uint64_t *ret, size_t most)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < p->n && n < most; i++) {
		const uint64_t dev = p->silent[i].place >> NUMBER_SHIFT & PLACE_NUMBERS;

		if (p->silent[i].place == place_of(STEP_MAPPED, dev, user) &&
		    is_silent(&p->silent[i]))
			ret[n++] = dev;
	}
	(void)pthread_mutex_unlock(&p->mutex);
	return n;
}

static void warn_silent(struct places *p, uint64_t place)
{
	const unsigned step = (unsigned)(place >> STEP_SHIFT);
	const uint64_t dev = place >> NUMBER_SHIFT & PLACE_NUMBERS;
	const bool has_user = step != STEP_HANDLE;
	char where[64] = "";
	int n = 0;

	if (has_user)
		n = snprintf(where, sizeof(where), "user %u", (uint32_t)place);
	if (step != STEP_PATH && step != STEP_DEBUG && step != STEP_PERF)
		(void)snprintf(where + n, sizeof(where) - (size_t)n, "%sdevice %u:%u",
			       has_user ? ", " : "", major(dev), minor(dev));
	log_few(&p->warnings,
		"a file system does not answer (%s): files are not looked for there for a while, "
		"and user stacks in them are cut or have no names",
		where);
}

void places_note_silence(struct places *p, uint64_t place, bool is_hung)
{
	(void)pthread_mutex_lock(&p->mutex);

	struct silent *known = find_silent(p, place);

	if (!known) {
		array_push(p->silent, p->n, p->capacity, (struct silent){ .place = place });
		known = &p->silent[p->n - 1];
	}
	if (known->n == 0)
		warn_silent(p, place);
	known->until = clock_ns(CLOCK_MONOTONIC) +
		       (PAUSE_NS << (known->n < MOST_DOUBLINGS ? known->n : MOST_DOUBLINGS));
	known->n++;
	known->n_hung += is_hung;
	(void)pthread_mutex_unlock(&p->mutex);
}

void places_note_end(struct places *p, uint64_t place)
{
	(void)pthread_mutex_lock(&p->mutex);
	find_silent(p, place)->n_hung--;
	(void)pthread_mutex_unlock(&p->mutex);
}

/* --- time of users --- */

struct spent {
	uint32_t user;
	uint64_t ns;
	uint64_t waited_ns, waited_at; /* waits, and the time of the last one */
};

void spending_fini(struct spending *s)
{
	free(s->users);
}

static struct spent *find_spent(const struct spending *s, uint32_t user)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].user == user)
			return &s->users[i];
	return NULL;
}

/* The waits that are not forgotten yet. */
static uint64_t waits_left(const struct spent *spent, uint64_t now)
{
	const uint64_t forgotten = (now - spent->waited_at) / SPENDING_FORGET_RATE;

	return spent->waited_ns > forgotten ? spent->waited_ns - forgotten : 0;
}

int spending_check(const struct spending *s, uint32_t user)
{
	const struct spent *spent = find_spent(s, user);

	if (!spent)
		return 0;
	if (spent->ns >= s->most_ns)
		return -EDQUOT;
	return waits_left(spent, clock_ns(CLOCK_MONOTONIC)) >= SPENDING_MOST_WAITS_NS ? -EAGAIN : 0;
}

void spending_add(struct spending *s, uint32_t user, uint64_t cpu_ns, uint64_t took_ns)
{
	struct spent *spent = user ? find_spent(s, user) : NULL;

	if (!user)
		return;
	if (!spent) {
		array_push(s->users, s->n, s->capacity, (struct spent){ .user = user });
		spent = &s->users[s->n - 1];
	}

	spent->ns += took_ns > SPENDING_LONG_WAIT_NS ? took_ns : cpu_ns;
	if (spent->ns >= s->most_ns)
		log_warn_once("reading files of user %u took %llu s: %s", user,
			      (unsigned long long)(s->most_ns / NS_PER_S), s->after);
	if (took_ns < cpu_ns + SPENDING_LEAST_WAIT_NS)
		return;

	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	spent->waited_ns = waits_left(spent, now) + took_ns - cpu_ns;
	spent->waited_at = now;
	if (spent->waited_ns >= SPENDING_MOST_WAITS_NS)
		log_warn_once("files of user %u are slow to read: for a while, %s", user, s->after);
}
