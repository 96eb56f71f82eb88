// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "match/match.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strtab.h"
#include "match/private.h"

void target_list_fini(struct target_list *list)
{
	free(list->targets);
	strtab_free(list->strings);
	*list = (struct target_list){};
}

/* --- places --- */

enum place_kind {
	PLACE_NAME = 1,
	PLACE_NAMED_ADDR,
	PLACE_ADDR,
	PLACE_TRACEPOINT,
	PLACE_PERF_EVENT
};

static uint64_t mix_place(enum place_kind kind, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(a + kind) ^ b);
}

/* The name of a kernel function as a place. A function's returns are another place. */
static uint64_t place_of_name(enum place_kind kind, const struct target *t)
{
	return mix_place(kind, hash_bytes(t->symbol, strlen(t->symbol)), t->kind);
}

static uint64_t place_of_perf_event(const struct target *t)
{
	const uint64_t codes[] = { t->perf_type, t->perf_config, t->exclude_user,
				   t->exclude_kernel };

	return mix_place(PLACE_PERF_EVENT, hash_bytes((const char *)codes, sizeof(codes)), 0);
}

static uint64_t place_of_target(const struct target *t)
{
	switch (t->kind) {
	case TARGET_KERNEL_FUNCTION:
	case TARGET_KERNEL_RETURN:
		return t->addr ? mix_place(PLACE_ADDR, t->addr, t->kind)
			       : place_of_name(PLACE_NAME, t);
	case TARGET_TRACEPOINT:
		return mix_place(PLACE_TRACEPOINT, t->tracepoint_id, 0);
	case TARGET_PERF_EVENT:
		return place_of_perf_event(t);
	default:
		return t->place; /* user.c has set it */
	}
}

/* Note the place of target number @i. */
static void note_place(struct matching *m, size_t i)
{
	const struct target *t = &m->out->targets[i];

	u64_map_put(&m->seen, t->place, (uint32_t)i, NULL);
	if (target_is_kernel_function(t) && t->addr)
		u64_map_put(&m->seen, place_of_name(PLACE_NAMED_ADDR, t), (uint32_t)i, NULL);
}

void matching_renumber(struct matching *m)
{
	u64_map_clear(&m->seen);
	for (size_t i = 0; i < m->out->n; i++)
		note_place(m, i);
}

/* The number of the target that is listed at @place, or by a name that includes @place. */
static const uint32_t *find_listed(const struct matching *m, const struct target *t, uint64_t place)
{
	const uint32_t *at = u64_map_get(&m->seen, place);

	if (!at && target_is_kernel_function(t))
		at = u64_map_get(&m->seen,
				 place_of_name(t->addr ? PLACE_NAME : PLACE_NAMED_ADDR, t));
	return at;
}

/* @t is the place of @listed. Of two functions that this call lists, the better name is kept. */
static void choose_name(const struct matching *m, struct target *listed, const struct target *t)
{
	const struct target_list *list = m->out;

	if ((size_t)(listed - list->targets) < m->n_before || !t->path || !t->symbol ||
	    !names_is_better(t->symbol, listed->symbol))
		return;
	listed->symbol = strtab_add(list->strings, t->symbol);
	listed->name = strtab_add(list->strings, t->name);
}

int matching_add(struct matching *m, const struct target *t, struct error *e)
{
	struct target_list *list = m->out;
	const uint64_t place = place_of_target(t);
	const uint32_t *listed = find_listed(m, t, place);

	if (listed) {
		choose_name(m, &list->targets[*listed], t);
		return 0;
	}
	if (list->n >= m->scope->limit || list->n >= UINT32_MAX)
		return error_set(e, -E2BIG, "'%s' %s more than %zu places", m->spec->text,
				 m->n_before ? "and the patterns before it match" : "matches",
				 m->scope->limit);

	struct target copy = *t;

	copy.name = strtab_add_or_null(list->strings, t->name);
	copy.symbol = strtab_add_or_null(list->strings, t->symbol);
	copy.module = strtab_add_or_null(list->strings, t->module);
	copy.category = strtab_add_or_null(list->strings, t->category);
	copy.event = strtab_add_or_null(list->strings, t->event);
	copy.path = strtab_add_or_null(list->strings, t->path);
	copy.arguments = strtab_add_or_null(list->strings, t->arguments);
	copy.place = place;
	array_push(list->targets, list->n, list->capacity, copy);
	note_place(m, list->n - 1);
	return 0;
}

/* --- the call --- */

int match_targets(const struct probe_spec *spec, struct host *host, const struct match_scope *scope,
		  struct target_list *out, struct error *e)
{
	static int (*const by_kind[])(struct matching * m, struct error * e) = {
		[PROBE_KERNEL_FUNCTION] = match_kernel, [PROBE_USER_FUNCTION] = match_user,
		[PROBE_TRACEPOINT] = match_tracepoints, [PROBE_USDT] = match_user,
		[PROBE_PERF_EVENT] = match_perf_events,
	};
	struct matching m = {
		.spec = spec,
		.host = host,
		.scope = scope,
		.out = out,
		.n_before = out->n,
	};

	if (!out->strings)
		out->strings = strtab_new();
	matching_renumber(&m);

	const int err = by_kind[spec->kind](&m, e);

	u64_map_fini(&m.seen);
	if (err)
		out->n = m.n_before;
	return err;
}
