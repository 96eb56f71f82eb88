// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/spending.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

struct spent {
	uint32_t user;
	uint64_t ns;
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

bool spending_may(const struct spending *s, uint32_t user)
{
	const struct spent *spent = find_spent(s, user);

	return !spent || spent->ns < s->most_ns;
}

void spending_add(struct spending *s, uint32_t user, uint64_t ns)
{
	struct spent *spent = user ? find_spent(s, user) : NULL;

	if (!user)
		return;
	if (!spent) {
		array_push(s->users, s->n, s->capacity, (struct spent){ .user = user });
		spent = &s->users[s->n - 1];
	}

	const bool may = spent->ns < s->most_ns;

	spent->ns += ns;
	if (may && spent->ns >= s->most_ns)
		log_warn("reading files of user %u took %llu s: %s", user,
			 (unsigned long long)(s->most_ns / NS_PER_S), s->after);
}
