// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/late_stacks.h"

#include <stdlib.h>

#include "base/array.h"

void late_stacks_fini(struct late_stacks *l)
{
	free(l->list);
}

void late_stacks_put(struct late_stacks *l, uint64_t number, uint64_t hash)
{
	const struct late_stack stack = { number, hash };

	array_push(l->list, l->n, l->capacity, stack);
}

bool late_stacks_take(struct late_stacks *l, uint64_t number, uint64_t *ret_hash)
{
	*ret_hash = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (l->list[i].number != number)
			continue;
		*ret_hash = l->list[i].hash;
		l->list[i] = l->list[--l->n];
		return true;
	}
	return false;
}
