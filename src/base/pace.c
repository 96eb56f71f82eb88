// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/pace.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

void pace_fini(struct pace *p)
{
	free(p->debts);
	*p = (struct pace){};
}

static struct pace_debt *find_debt(const struct pace *p, uint32_t tgid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->debts[i].tgid == tgid)
			return &p->debts[i];
	return NULL;
}

static uint64_t debt_due(const struct pace_debt *debt)
{
	return debt->paid > PACE_CREDIT_NS ? debt->paid - PACE_CREDIT_NS : 0;
}

/* Few processes owe anything at a time, so a list is enough. */
static void drop_paid(struct pace *p, uint64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->debts[i].paid > now || p->debts[i].is_waiting)
			p->debts[n++] = p->debts[i];
	p->n = n;
}

bool pace_may_read(struct pace *p, uint32_t tgid, uint64_t now)
{
	struct pace_debt *debt = find_debt(p, tgid);

	if (!debt || debt_due(debt) <= now)
		return true;
	debt->is_waiting = true;
	return false;
}

void pace_pay(struct pace *p, uint32_t tgid, uint64_t now, uint64_t cost)
{
	struct pace_debt *debt;

	drop_paid(p, now);
	debt = find_debt(p, tgid);
	if (!debt) {
		array_push(p->debts, p->n, p->capacity, (struct pace_debt){ .tgid = tgid });
		debt = &p->debts[p->n - 1];
	}
	debt->is_waiting = false;
	debt->paid = (debt->paid > now ? debt->paid : now) + PACE_SHARE * cost;
}

void pace_forget(struct pace *p, uint32_t tgid)
{
	struct pace_debt *debt = find_debt(p, tgid);

	if (debt)
		*debt = p->debts[--p->n];
}

uint64_t pace_next_due(const struct pace *p)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < p->n; i++)
		if (p->debts[i].is_waiting && debt_due(&p->debts[i]) < next)
			next = debt_due(&p->debts[i]);
	return next;
}

uint32_t pace_take_due(struct pace *p, uint64_t now)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!p->debts[i].is_waiting || debt_due(&p->debts[i]) > now)
			continue;
		p->debts[i].is_waiting = false;
		return p->debts[i].tgid;
	}
	return 0;
}
