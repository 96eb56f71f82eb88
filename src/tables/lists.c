// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/lists.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define LEAST_TO_COMPACT 1024

struct listed {
	uint32_t tgid;
	uint64_t looked;           /* time of the last reading, ns of CLOCK_MONOTONIC */
	uint64_t paid;             /* the time when all readings are paid for */
	struct unwind_space space; /* n 0: no list of its own */
};

void lists_init(struct lists *l, struct object *object, struct unwind_memory *memory)
{
	*l = (struct lists){
		.object = object,
		.memory = memory,
		.n_to_compact = LEAST_TO_COMPACT,
		.most = unwind_memory_most(memory) / 2 / sizeof(struct unwind_mapping),
	};
}

void lists_fini(struct lists *l)
{
	free(l->listed);
	u64_map_fini(&l->numbers);
}

/* Drop the entries of processes that have no list and owe nothing. */
static void compact_listed(struct lists *l)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t n = 0;

	u64_map_clear(&l->numbers);
	for (size_t i = 0; i < l->n_listed; i++) {
		if (!l->listed[i].space.n && l->listed[i].paid <= now)
			continue;
		l->listed[n] = l->listed[i];
		(void)u64_map_put(&l->numbers, l->listed[n].tgid, (uint32_t)n, NULL);
		n++;
	}
	l->n_listed = n;
	l->n_to_compact = n < LEAST_TO_COMPACT / 2 ? LEAST_TO_COMPACT : 2 * n;
}

/* The entry of process @tgid, a new one if necessary. It is valid until the next call. */
static struct listed *listed_of(struct lists *l, uint32_t tgid)
{
	bool is_new;
	uint32_t i;

	if (l->n_listed >= l->n_to_compact)
		compact_listed(l);
	i = *u64_map_put(&l->numbers, tgid, (uint32_t)l->n_listed, &is_new);
	if (is_new)
		array_push(l->listed, l->n_listed, l->capacity, (struct listed){ .tgid = tgid });
	return &l->listed[i];
}

static void drop_list(struct lists *l, const struct unwind_space *space)
{
	unwind_memory_drop(l->memory, space->mappings, space->n * sizeof(struct unwind_mapping));
}

/* BPF has @space of the process from now on. Drop the memory of the former list. */
static void replace_list(struct lists *l, struct listed *listed, struct unwind_space space)
{
	drop_list(l, &listed->space);
	l->n += space.n;
	l->n -= listed->space.n;
	listed->space = space;
}

static void withdraw_space(const struct lists *l, uint32_t tgid)
{
	struct error e;

	if (object_set_space(l->object, tgid, NULL, &e))
		log_debug("%s", e.text);
}

void lists_retract(struct lists *l, uint32_t tgid)
{
	withdraw_space(l, tgid);
	replace_list(l, listed_of(l, tgid), (struct unwind_space){});
}

bool lists_may_read(const struct lists *l, uint32_t tgid, uint64_t now)
{
	const uint32_t *i = u64_map_get(&l->numbers, tgid);

	return !i || l->listed[*i].paid <= now + READING_CREDIT_NS;
}

void lists_pay(struct lists *l, uint32_t tgid, uint64_t began, uint64_t cost)
{
	struct listed *listed = listed_of(l, tgid);

	listed->looked = began;
	listed->paid = later_time(listed->paid, began) + READING_SHARE * cost;
}

void lists_forget(struct lists *l, uint32_t tgid)
{
	lists_retract(l, tgid);
	listed_of(l, tgid)->paid = 0;
}

/* Most processes have no list of their own, because BPF has given them their parent's. */
void lists_end(struct lists *l, uint32_t tgid, uint64_t time)
{
	const uint32_t *i = u64_map_get(&l->numbers, tgid);

	if (i && l->listed[*i].looked < time)
		lists_forget(l, tgid);
}

void lists_drop(struct lists *l)
{
	cleanup_free struct unwind_space *spaces = xcalloc(MOST_SPACES, sizeof(*spaces));
	cleanup_free uint32_t *tgids = xcalloc(MOST_SPACES, sizeof(*tgids));
	const size_t n = object_spaces(l->object, tgids, spaces, MOST_SPACES);

	for (size_t i = 0; i < n; i++)
		withdraw_space(l, tgids[i]);
	for (size_t i = 0; i < l->n_listed; i++)
		replace_list(l, &l->listed[i], (struct unwind_space){});
}

int lists_publish(struct lists *l, uint32_t tgid, const struct unwind_mapping *list, size_t n,
		  struct error *e)
{
	struct listed *listed = listed_of(l, tgid);
	struct unwind_space space = { .n = (uint32_t)n };
	int err;

	if (l->n - listed->space.n + n > l->most)
		return error_set(e, -E2BIG, "mappings take half of the unwind-table memory");
	err = unwind_memory_put(l->memory, list, n * sizeof(*list), &space.mappings, e);
	if (err)
		return err;
	err = object_set_space(l->object, tgid, &space, e);
	if (err)
		drop_list(l, &space);
	else
		replace_list(l, listed, space);
	return err == -E2BIG ? error_set(e, err, "very many processes are walked by tables") : err;
}

bool lists_confirm(struct lists *l, uint32_t tgid)
{
	struct listed *listed = listed_of(l, tgid);

	listed->space.number = ++l->last_number;
	return object_replace_space(l->object, tgid, 0, &listed->space);
}

bool lists_have(struct lists *l, uint32_t tgid, const struct unwind_mapping *list, size_t n)
{
	const struct unwind_space *space = &listed_of(l, tgid)->space;

	return space->number && space->n == n &&
	       unwind_memory_has(l->memory, space->mappings, list, n * sizeof(*list)) &&
	       object_replace_space(l->object, tgid, space->number, space);
}
