// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/programs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"

/* Programs that are over are forgotten when there are so many more than at the last time, */
#define MANY_PROGRAMS 4096
/* and not before a hit of theirs must have been told of. */
#define FORGET_NS (5 * NS_PER_S)

/* So much may all take before programs that are over are forgotten though they were hit. */
#define MOST_BYTES ((size_t)24 << 20)

/* As many as processes may have mapped at once (vm.max_map_count), and what was there before. */
#define MOST_REGIONS 131072U

void programs_init(struct programs *all, struct images *images)
{
	*all = (struct programs){
		.spaces = { .images = images, .most_regions = MOST_REGIONS },
		.period = 1,
	};
}

static void program_free(struct programs *all, struct program *program)
{
	all->n--;
	all->bytes -= sizeof(*program);
	all->bytes -= program->former.capacity * sizeof(*program->former.list);
	former_comms_fini(&program->former);
	space_drop(&all->spaces, program->space);
	free(program);
}

void programs_fini(struct programs *all)
{
	for (size_t i = 0; i < all->n_heads; i++) {
		for (struct program *program = all->heads[i], *older; program; program = older) {
			older = program->older;
			program_free(all, program);
		}
	}
	free(all->heads);
	u64_map_fini(&all->newest);
}

/* --- by number and time --- */

struct program *programs_newest(const struct programs *all, uint32_t tgid)
{
	const uint32_t *at = u64_map_get(&all->newest, tgid);

	return at ? all->heads[*at] : NULL;
}

struct program *programs_current(struct programs *all, uint32_t tgid)
{
	struct program *program = programs_newest(all, tgid);

	return program ? program : programs_begin(all, tgid, 0, space_new(&all->spaces));
}

struct program *programs_at(const struct programs *all, uint32_t tgid, uint64_t time,
			    uint64_t since)
{
	struct program *program = programs_newest(all, tgid);

	while (program && time && program->begin > time)
		program = program->older;
	if (program && program->is_exec && program->begin > since && program->older)
		program = program->older;
	return program;
}

/* Where the newest program of @tgid is, or is to be. Lent until the next call. */
static struct program **head_of(struct programs *all, uint32_t tgid)
{
	bool is_new;
	uint32_t i = *u64_map_put(&all->newest, tgid, (uint32_t)all->n_heads, &is_new);

	if (is_new)
		array_push(all->heads, all->n_heads, all->cap_heads, NULL);
	return &all->heads[i];
}

/* What was read of it came after its end: it was of the next one. */
static void forget_look(struct programs *all, struct program *program)
{
	if (program->looked_at < program->end)
		return;
	program->looked_at = 0;
	program->is_whole = false;
	program->comm[0] = '\0';
	program->named_at = 0;
	space_forget_first(&all->spaces, program->space);
}

struct program *programs_begin(struct programs *all, uint32_t tgid, uint64_t time,
			       struct space *space)
{
	struct program **link = head_of(all, tgid);
	struct program *program = xcalloc(1, sizeof(*program));

	*program = (struct program){
		.tgid = tgid,
		.begin = time,
		.end = UINT64_MAX,
		.exited = UINT64_MAX,
		.user = USER_UNKNOWN,
		.mapper = { .pid = tgid, .root = -1 },
		.space = space,
	};
	while (*link && (*link)->begin > time) {
		program->end = (*link)->begin;
		link = &(*link)->older;
	}
	program->older = *link;
	*link = program;
	all->n++;
	all->bytes += sizeof(*program);
	if (program->older) {
		if (program->older->walked > time) /* that was this one */
			program->walked = program->older->walked;
		program->older->end = time;
		forget_look(all, program->older);
	}
	return program;
}

uint64_t program_over_at(const struct program *program)
{
	return program->end < program->exited ? program->end : program->exited;
}

bool program_runs(const struct program *program)
{
	return program_over_at(program) == UINT64_MAX;
}

/* After lost records another one is begun, though it may be the same program. */
uint64_t program_began(const struct program *program)
{
	while (!program->is_exec && program->older && program->older->exited == UINT64_MAX)
		program = program->older;
	return program->begin;
}

/* --- bounds --- */

static bool is_kept(const struct programs *all, const struct program *program)
{
	return program->kept && program->kept + 2 > all->period;
}

static struct program *without_forgotten(struct programs *all, struct program *program)
{
	struct program *first = NULL, **link = &first;

	for (struct program *older; program; program = older) {
		older = program->older;
		if (program->is_forgotten) {
			program_free(all, program);
			continue;
		}
		*link = program;
		link = &program->older;
	}
	*link = NULL;
	return first;
}

static void forget_marked(struct programs *all)
{
	size_t n = 0;

	u64_map_clear(&all->newest);
	for (size_t i = 0; i < all->n_heads; i++) {
		struct program *head = without_forgotten(all, all->heads[i]);

		if (!head)
			continue;
		*u64_map_put(&all->newest, head->tgid, 0, NULL) = (uint32_t)n;
		all->heads[n++] = head;
	}
	all->n_heads = n;
}

static void forget_ended(struct programs *all, uint64_t now)
{
	const uint64_t before = now > FORGET_NS ? now - FORGET_NS : 0;

	if (all->n < all->n_last + all->n_last / 2 + MANY_PROGRAMS)
		return;
	for (size_t i = 0; i < all->n_heads; i++)
		for (struct program *p = all->heads[i]; p; p = p->older)
			p->is_forgotten = program_over_at(p) < before && !is_kept(all, p);
	forget_marked(all);
	all->n_last = all->n;
}

/* Those that were not hit go first, and of either the oldest. */
struct candidate {
	struct program *program;
	bool is_kept;
	uint64_t over_at;
};

static int by_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->is_kept != b->is_kept)
		return a->is_kept ? 1 : -1;
	return a->over_at < b->over_at ? -1 : a->over_at > b->over_at;
}

static void drop_oldest(struct programs *all)
{
	struct candidate *list = NULL;
	size_t n = 0, capacity = 0;

	if (programs_bytes(all) <= MOST_BYTES || all->n < all->n_last_drop + MANY_PROGRAMS / 4)
		return;
	for (size_t i = 0; i < all->n_heads; i++) {
		for (struct program *p = all->heads[i]; p; p = p->older) {
			const struct candidate one = { p, is_kept(all, p), program_over_at(p) };

			if (!program_runs(p))
				array_push(list, n, capacity, one);
		}
	}
	if (n)
		qsort(list, n, sizeof(*list), by_worth);
	for (size_t i = 0; i < n / 2; i++) {
		list[i].program->is_forgotten = true;
		all->n_dropped += list[i].is_kept;
	}
	free(list);
	forget_marked(all);
	all->n_last_drop = all->n;
}

void programs_bound(struct programs *all, uint64_t now)
{
	forget_ended(all, now);
	drop_oldest(all);
}

size_t programs_bytes(const struct programs *all)
{
	return all->bytes + all->spaces.bytes + all->cap_heads * sizeof(*all->heads) +
	       all->newest.n_slots * sizeof(*all->newest.slots);
}

/* --- names --- */

void program_set_comm(struct program *program, const char *comm)
{
	(void)snprintf(program->comm, sizeof(program->comm), "%.15s", comm);
}

bool program_has_comm(const struct program *program)
{
	return program->comm[0] || program->is_named;
}

void program_rename(struct programs *all, struct program *program, const char *comm, uint64_t time)
{
	const size_t capacity = program->former.capacity;

	if (program_has_comm(program) && program->named_at < time)
		former_comms_add(&program->former, program->comm, time);
	else
		former_comms_forget(&program->former, time);
	all->bytes += (program->former.capacity - capacity) * sizeof(*program->former.list);
	program_set_comm(program, comm);
	program->is_named = true;
}

const char *program_comm(const struct program *program, uint64_t time)
{
	const char *former = NULL;

	switch (former_comms_at(&program->former, time ? time : UINT64_MAX, &former)) {
	case COMM_FORMER:
		return former;
	case COMM_NOT_KNOWN:
		return NULL;
	case COMM_LATER:
		break;
	}
	return program_has_comm(program) ? program->comm : NULL;
}
