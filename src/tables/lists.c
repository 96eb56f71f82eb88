// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/lists.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "bpf/tables.h"

void lists_init(struct lists *l, struct object *object, struct unwind_memory *memory,
		struct table_set *tables)
{
	*l = (struct lists){
		.object = object,
		.memory = memory,
		.tables = tables,
		.most = unwind_memory_most(memory) / 2 / sizeof(struct unwind_mapping),
	};
}

void lists_fini(struct lists *l)
{
	log_few_end(&l->warnings, "processes with very many mappings");
	known_fini(&l->known);
}

static void drop_list(struct lists *l, const struct unwind_space *space)
{
	unwind_memory_drop(l->memory, space->mappings, space->n * sizeof(struct unwind_mapping));
}

/* BPF has @space of the process from now on. Drop the memory of the former list. */
static void replace_list(struct lists *l, struct known *known, struct unwind_space space)
{
	drop_list(l, &known->space);
	l->n += space.n;
	l->n -= known->space.n;
	known->space = space;
}

static void retract_list(struct lists *l, struct known *known)
{
	struct error e;

	if (object_set_space(l->object, known->tgid, NULL, &e))
		log_debug("%s", e.text);
	replace_list(l, known, (struct unwind_space){});
}

void lists_retract(struct lists *l, uint32_t tgid)
{
	retract_list(l, known_of(&l->known, tgid));
}

/* --- room --- */

/* The number of each list that BPF has, by process. */
static void read_numbers(const struct lists *l, struct u64_map *ret)
{
	cleanup_free struct unwind_space *spaces = xcalloc(MOST_SPACES, sizeof(*spaces));
	cleanup_free uint32_t *tgids = xcalloc(MOST_SPACES, sizeof(*tgids));
	const size_t n = object_spaces(l->object, tgids, spaces, MOST_SPACES);

	for (size_t i = 0; i < n; i++)
		*u64_map_put(ret, tgids[i], 0, NULL) = spaces[i].number;
}

/*
 * Drop the memory of lists that BPF has removed: the process has ended or runs something else, and
 * the event is still to come.
 */
static void drop_unused(struct lists *l)
{
	cleanup(u64_map_fini) struct u64_map numbers = {};

	read_numbers(l, &numbers);
	for (size_t i = 0; i < l->known.n; i++) {
		struct known *known = &l->known.list[i];
		const uint32_t *number = u64_map_get(&numbers, known->tgid);

		if (!number || *number != known->space.number)
			replace_list(l, known, (struct unwind_space){});
	}
}

static bool is_over_bound(const struct lists *l, const struct known *asker, size_t n)
{
	return l->n - asker->space.n + n > l->most;
}

static void warn_too_many(struct lists *l, uint32_t tgid, size_t n)
{
	log_few(&l->warnings,
		"process %u has %zu mappings, too many for the memory for unwind tables: its user "
		"stacks may be cut (see --unwind-memory)",
		tgid, n);
}

/*
 * Make room for @n mappings of @asker: withdraw longer lists of other processes. False: that was
 * not enough.
 */
static bool make_list_room(struct lists *l, const struct known *asker, size_t n)
{
	if (!is_over_bound(l, asker, n))
		return true;
	drop_unused(l);
	while (is_over_bound(l, asker, n)) {
		struct known *longest = known_longest(&l->known, asker);

		if (!longest || longest->space.n <= n) {
			warn_too_many(l, asker->tgid, n);
			return false;
		}
		warn_too_many(l, longest->tgid, longest->space.n);
		retract_list(l, longest);
	}
	return true;
}

static int put_list(struct lists *l, const struct unwind_mapping *list, size_t n, uint32_t *ret,
		    struct error *e)
{
	int err;

	do
		err = unwind_memory_put(l->memory, list, n * sizeof(*list), ret, e);
	while (err == -E2BIG && table_set_make_room(l->tables));
	if (err == -E2BIG)
		log_few(&l->warnings,
			"unwind tables in use leave no room for lists of mappings: user stacks may "
			"be cut (see --unwind-memory)");
	return err;
}

int lists_publish(struct lists *l, uint32_t tgid, const struct unwind_mapping *list, size_t n,
		  struct error *e)
{
	struct known *known = known_of(&l->known, tgid);
	struct unwind_space space = { .n = (uint32_t)n };
	int err;

	if (!make_list_room(l, known, n))
		return error_set(e, -E2BIG, "it has too many mappings");
	err = put_list(l, list, n, &space.mappings, e);
	if (err)
		return err;
	err = object_set_space(l->object, tgid, &space, e);
	if (err)
		drop_list(l, &space);
	else
		replace_list(l, known, space);
	return err;
}

bool lists_confirm(struct lists *l, uint32_t tgid)
{
	struct known *known = known_of(&l->known, tgid);

	known->space.number = ++l->last_number;
	return object_replace_space(l->object, tgid, 0, &known->space);
}

bool lists_have(struct lists *l, uint32_t tgid, const struct unwind_mapping *list, size_t n)
{
	const struct known *known = known_of(&l->known, tgid);
	const struct unwind_space *space = &known->space;

	return space->number && space->n == n &&
	       unwind_memory_has(l->memory, space->mappings, list, n * sizeof(*list)) &&
	       object_replace_space(l->object, tgid, space->number, space);
}
