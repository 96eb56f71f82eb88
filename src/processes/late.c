// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/late.h"

#include <stdlib.h>

#include "base/array.h"

void late_fini(struct late *l)
{
	free(l->list);
	*l = (struct late){};
}

static struct late_one *find_late_process(const struct late *l, uint32_t tgid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].tgid == tgid)
			return &l->list[i];
	return NULL;
}

bool late_has(const struct late *l, uint32_t tgid)
{
	return find_late_process(l, tgid) != NULL;
}

void late_note(struct late *l, uint32_t tgid, uint64_t begin, uint64_t now)
{
	struct late_one *one = find_late_process(l, tgid);

	if (!one) {
		const struct late_one first = { tgid, LATE_LEAST_PAUSE_NS,
						now + LATE_LEAST_PAUSE_NS };

		array_push(l->list, l->n, l->capacity, first);
		return;
	}
	one->pause = one->pause < LATE_MOST_PAUSE_NS / 2 ? 2 * one->pause : LATE_MOST_PAUSE_NS;
	one->due = now + one->pause;
	l->rest_until = now + (LATE_SHARE - 1) * (now - begin);
}

void late_forget(struct late *l, uint32_t tgid)
{
	struct late_one *one = find_late_process(l, tgid);

	if (one)
		*one = l->list[--l->n];
}

void late_forget_all(struct late *l)
{
	l->n = 0;
}

static const struct late_one *first_due_process(const struct late *l)
{
	const struct late_one *first = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (!first || l->list[i].due < first->due)
			first = &l->list[i];
	return first;
}

uint64_t late_due(const struct late *l)
{
	const struct late_one *first = first_due_process(l);

	if (!first)
		return UINT64_MAX;
	return first->due > l->rest_until ? first->due : l->rest_until;
}

uint32_t late_next(const struct late *l, uint64_t now)
{
	return late_due(l) <= now ? first_due_process(l)->tgid : 0;
}
