#include "symbolize/doubts.h"

#include <stdlib.h>

#include "base/array.h"

void doubts_add(struct doubts *ds, const struct doubt *doubt)
{
	(void)memory_share(doubt->parent);
	(void)memory_share(doubt->child);
	array_push(ds->list, ds->n, ds->capacity, *doubt);
}

static void drop(struct memories *all, const struct doubt *doubt)
{
	memory_drop(all, doubt->parent);
	memory_drop(all, doubt->child);
}

void doubts_pass(struct doubts *ds, struct memories *all, uint64_t time)
{
	size_t n = 0;

	for (size_t i = 0; i < ds->n; i++) {
		const struct doubt *doubt = &ds->list[i];

		if (doubt->until < time || !memory_is_shared(doubt->child))
			drop(all, doubt);
		else
			ds->list[n++] = *doubt;
	}
	ds->n = n;
}

static void hand_up(struct doubts *ds, struct memories *all, const struct doubt *ended)
{
	for (size_t i = 0; i < ds->n; i++) {
		struct doubt *doubt = &ds->list[i];

		if (doubt->parent != ended->child)
			continue;
		memory_drop(all, doubt->parent);
		doubt->parent = memory_share(ended->parent);
		doubt->parent_tgid = ended->parent_tgid;
	}
}

void doubts_end(struct doubts *ds, struct memories *all, struct memory *child)
{
	for (size_t i = 0; i < ds->n; i++) {
		const struct doubt ended = ds->list[i];

		if (ended.child != child)
			continue;
		ds->list[i] = ds->list[--ds->n];
		hand_up(ds, all, &ended);
		drop(all, &ended);
		return;
	}
}

const struct doubt *doubts_of_child(const struct doubts *ds, const struct memory *child)
{
	for (size_t i = 0; i < ds->n; i++)
		if (ds->list[i].child == child)
			return &ds->list[i];
	return NULL;
}

struct reached {
	struct memory **list;
	size_t n, capacity;
};

static bool has(const struct reached *reached, const struct memory *m)
{
	for (size_t i = 0; i < reached->n; i++)
		if (reached->list[i] == m)
			return true;
	return false;
}

static struct memory *other_of(const struct doubt *doubt, const struct memory *m)
{
	if (doubt->parent == m)
		return doubt->child;
	return doubt->child == m ? doubt->parent : NULL;
}

void doubts_spread(const struct doubts *ds, struct memories *all, struct memory *m,
		   const struct past_region *region, doubts_visit *visit, void *context)
{
	struct reached reached = {};

	array_push(reached.list, reached.n, reached.capacity, m);
	for (size_t at = 0; at < reached.n; at++) {
		for (size_t i = 0; i < ds->n; i++) {
			const struct doubt *doubt = &ds->list[i];
			struct memory *other = other_of(doubt, reached.list[at]);

			if (!other || region->from > doubt->until || has(&reached, other))
				continue;
			array_push(reached.list, reached.n, reached.capacity, other);
			if (memory_end(all, other, region))
				visit(context, doubt, other);
		}
	}
	free(reached.list);
}

void doubts_fini(struct doubts *ds, struct memories *all)
{
	for (size_t i = 0; i < ds->n; i++)
		drop(all, &ds->list[i]);
	free(ds->list);
	*ds = (struct doubts){};
}
