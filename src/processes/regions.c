// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void regions_fini(struct spaces *all, struct regions *r)
{
	for (size_t i = 0; i < r->n; i++)
		images_release(all->images, r->list[i].image);
	all->bytes -= r->capacity * sizeof(*r->list);
	free(r->list);
}

void regions_splice(struct spaces *all, struct regions *r, size_t at, size_t n_gone,
		    const struct region *list, size_t n)
{
	const size_t before = r->capacity, rest = r->n - at - n_gone;

	for (size_t i = 0; i < n; i++)
		images_hold(all->images, list[i].image);
	for (size_t i = 0; i < n_gone; i++)
		images_release(all->images, r->list[at + i].image);
	while (r->n + n - n_gone > r->capacity) {
		r->capacity = r->capacity ? 2 * r->capacity : 8;
		r->list = xreallocarray(r->list, r->capacity, sizeof(*r->list));
	}
	all->bytes += (r->capacity - before) * sizeof(*r->list);
	if (rest && n != n_gone)
		memmove(&r->list[at + n], &r->list[at + n_gone], rest * sizeof(*r->list));
	if (n)
		memcpy(&r->list[at], list, n * sizeof(*list));
	r->n += n - n_gone;
}

void regions_forget_first(struct spaces *all, struct regions *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->list[i].from)
			r->list[n++] = r->list[i];
		else
			images_release(all->images, r->list[i].image);
	}
	r->n = n;
}
