// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/spending.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

struct spent {
	uint32_t user;
	uint64_t ns;
	uint64_t waited_ns, waited_at; /* waits, and the time of the last one */
	bool has_warned;               /* of these */
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

static void add_wait(const struct spending *s, struct spent *spent, uint64_t ns)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	spent->waited_ns = waits_left(spent, now) + ns;
	spent->waited_at = now;
	if (spent->has_warned || spent->waited_ns < SPENDING_MOST_WAITS_NS)
		return;
	spent->has_warned = true;
	log_warn("files of user %u are slow to read: for a while, %s", spent->user, s->after);
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

	const bool may = spent->ns < s->most_ns;

	spent->ns += took_ns > SPENDING_LONG_WAIT_NS ? took_ns : cpu_ns;
	if (may && spent->ns >= s->most_ns)
		log_warn("reading files of user %u took %llu s: %s", user,
			 (unsigned long long)(s->most_ns / NS_PER_S), s->after);
	if (took_ns >= cpu_ns + SPENDING_LEAST_WAIT_NS)
		add_wait(s, spent, took_ns - cpu_ns);
}
