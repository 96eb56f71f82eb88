// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "kernel/host.h"

/* Ended programs are forgotten when all are 1.5 * n_last plus MANY_PROGRAMS, */
#define MANY_PROGRAMS 4096
/* but not before a notice of their first hit must have come. */
#define FORGET_NS (5 * NS_PER_S)

/*
 * The bound of programs_bytes(). Beyond it, programs and mappings are forgotten until FIT_BYTES are
 * left. Running programs always stay, so more may be left. The next try then comes after another
 * STEP_BYTES.
 */
#define MOST_BYTES ((size_t)24 << 20)
#define FIT_BYTES (MOST_BYTES / 4 * 3)
#define STEP_BYTES (MOST_BYTES / 8)

/* Hundreds of regions; few programs have so many of their own. */
#define LARGE_BYTES ((size_t)16 << 10)

static void program_free(struct programs *all, struct program *program)
{
	all->n--;
	all->bytes -= sizeof(*program);
	if (program->space)
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

/*
 * Take back a look at @program that came after its end: it saw the next program. The look made the
 * space the program's own. What events had told before is lost with it.
 */
static void forget_look(struct programs *all, struct program *program)
{
	if (program->looked_at < program->end)
		return;
	program->looked_at = 0;
	program->is_whole = false;
	program->comm[0] = '\0';
	space_drop(&all->spaces, program->space);
	program->space = space_new(&all->spaces);
}

struct program *programs_begin(struct programs *all, uint32_t tgid, uint64_t time,
			       struct space *space)
{
	struct program *program = xcalloc(1, sizeof(*program)), **link;
	bool is_new;
	const uint32_t i = *u64_map_put(&all->newest, tgid, (uint32_t)all->n_heads, &is_new);

	if (is_new)
		array_push(all->heads, all->n_heads, all->cap_heads, NULL);
	*program = (struct program){
		.tgid = tgid,
		.begin = time,
		.began = time,
		.end = UINT64_MAX,
		.exited = UINT64_MAX,
		.user = USER_UNKNOWN,
		.mapper = { .pid = tgid, .root = -1 },
		.space = space,
	};
	for (link = &all->heads[i]; *link && (*link)->begin > time; link = &(*link)->older)
		program->end = (*link)->begin;
	program->older = *link;
	*link = program;
	all->version++;
	all->n++;
	all->bytes += sizeof(*program);
	if (program->older) {
		if (program->older->walked > time) /* processes_walk() meant this one */
			program->walked = program->older->walked;
		program->older->end = time;
		forget_look(all, program->older);
	}
	return program;
}

/*
 * After a loss, a process may run another program, or its number may belong to another process. A
 * program that began after @since may have mapped more than its events report.
 */
void programs_lose(struct programs *all, uint64_t since)
{
	for (size_t i = 0; i < all->n_heads; i++) {
		struct program *former = all->heads[i], *program;

		if (former->begin > since) {
			former->is_whole = false;
			continue;
		}
		if (former->exited != UINT64_MAX ||
		    (!former->is_whole && !former->space->content->now.n))
			continue;
		program = programs_begin(all, former->tgid, since, space_new(&all->spaces));
		program->began = former->began;
		program->mapper.root = former->mapper.root;
		program->walked = former->walked;
		program->is_seen = former->is_seen; /* the same program gives no second notice */
		program->user = former->user;
	}
}

uint64_t program_over_at(const struct program *program)
{
	return program->end < program->exited ? program->end : program->exited;
}

bool program_runs(const struct program *program)
{
	return program_over_at(program) == UINT64_MAX;
}

bool program_is_all_known(const struct program *program)
{
	return program->is_whole && !program->space->is_forgotten;
}

/* --- bounds --- */

static bool is_program_kept(const struct programs *all, const struct program *program)
{
	return program->kept && program->kept + 2 > all->period;
}

static void forget_marked(struct programs *all)
{
	size_t n = 0;

	all->version++;
	u64_map_clear(&all->newest);
	for (size_t i = 0; i < all->n_heads; i++) {
		struct program *head = all->heads[i], **link = &head;

		for (struct program *p = head; p; p = *link) {
			if (!p->is_forgotten) {
				link = &p->older;
				continue;
			}
			*link = p->older;
			program_free(all, p);
		}
		if (!head)
			continue;
		*u64_map_put(&all->newest, head->tgid, 0, NULL) = (uint32_t)n;
		all->heads[n++] = head;
	}
	all->n_heads = n;
}

/*
 * The order in which programs are forgotten.
 *
 * IS_LONG_OVER and IS_LARGE have no known hit. IS_OVER was hit, or ended just now, so that a notice
 * may still come. Nobody can read its mappings again, so a large program without a hit goes before
 * it.
 */
enum worth { IS_LONG_OVER, IS_LARGE, IS_OVER, RUNS };

struct candidate {
	struct program *program;
	enum worth worth;
	uint64_t rank; /* of equal worth, the lowest goes first: time of the end, or inverse size,
			  without a hit first */
};

/* If a program that ended before @before was hit, its notice has come. */
static struct candidate candidate_of(const struct programs *all, struct program *p, uint64_t before)
{
	const bool runs = program_runs(p), is_hit = is_program_kept(all, p) || (runs && p->is_seen);
	const uint64_t over_at = program_over_at(p), bytes = space_bytes(p->space);
	const uint64_t by_size = (is_hit ? UINT64_MAX : UINT64_MAX / 2) - bytes;

	if (!is_hit && over_at < before)
		return (struct candidate){ p, IS_LONG_OVER, over_at };
	if (!is_hit && bytes >= LARGE_BYTES)
		return (struct candidate){ p, IS_LARGE, by_size };
	return runs ? (struct candidate){ p, RUNS, by_size }
		    : (struct candidate){ p, IS_OVER, over_at };
}

/* Of the same size, the newest goes first: children that come later copy their parent's regions. */
static int compare_program_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->worth != b->worth)
		return a->worth < b->worth ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->program->begin > b->program->begin ? -1 : a->program->begin < b->program->begin;
}

/*
 * Drop the space of @program, and mark it for forget_marked(). Returns the bytes that this will
 * free.
 */
static size_t forget_over(struct programs *all, struct program *program)
{
	all->n_dropped += is_program_kept(all, program);
	space_drop(&all->spaces, program->space);
	program->space = NULL;
	program->is_forgotten = true;
	return sizeof(*program);
}

/* The next hit reads its mappings again. */
static void forget_running(struct programs *all, struct program *program, uint64_t now)
{
	space_forget(&all->spaces, program->space, now);
	program->looked_in = 0;
}

/* Forget all that is long over, and with @is_full as much of the rest as the bound demands. */
static void forget_least(struct programs *all, uint64_t now, bool is_full)
{
	const uint64_t before = now > FORGET_NS ? now - FORGET_NS : 0;
	struct candidate *list = NULL;
	size_t n = 0, capacity = 0, marked = 0;

	for (size_t i = 0; i < all->n_heads; i++)
		for (struct program *p = all->heads[i]; p; p = p->older)
			if (!program_runs(p) || space_bytes(p->space))
				array_push(list, n, capacity, candidate_of(all, p, before));
	if (n)
		qsort(list, n, sizeof(*list), compare_program_worth);
	for (size_t i = 0; i < n && (list[i].worth == IS_LONG_OVER ||
				     (is_full && programs_bytes(all) - marked > FIT_BYTES));
	     i++) {
		if (program_runs(list[i].program))
			forget_running(all, list[i].program, now);
		else
			marked += forget_over(all, list[i].program);
	}
	free(list);
	forget_marked(all);
}

void programs_fit(struct programs *all, uint64_t now)
{
	const size_t bytes = programs_bytes(all);
	const bool are_many = all->n >= all->n_last + all->n_last / 2 + MANY_PROGRAMS;
	const bool is_full = bytes > MOST_BYTES && bytes >= all->least + STEP_BYTES;

	if (bytes < all->least)
		all->least = bytes;
	if (!are_many && !is_full)
		return;
	forget_least(all, now, is_full);
	if (is_full)
		all->least = programs_bytes(all);
	all->n_last = all->n;
}

size_t programs_bytes(const struct programs *all)
{
	return all->bytes + all->spaces.bytes + all->spaces.images->held_bytes +
	       all->cap_heads * sizeof(*all->heads) +
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

void program_read_comm(struct program *program)
{
	char comm[32] = "";

	host_pid_comm(program->tgid, comm, sizeof(comm));
	if (comm[0])
		program_set_comm(program, comm);
}
