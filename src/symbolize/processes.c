#include "symbolize/processes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "bpf/abi.h"

/* Keys are forgotten when there are so many, and they were in no report for a while. */
#define MANY_PROCESSES 128

struct processes {
	struct images *images;
	struct history *history;
	struct strtab *strings;
	struct process **list;
	size_t n, capacity;
	struct u64_map by_id;
	struct process *last; /* stacks are looked up frame by frame: mostly the same again */
	uint64_t period;
	uint64_t n_dropped; /* history_dropped() */
};

struct processes *processes_new(struct images *images, struct history *history,
				struct strtab *strings)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));

	ps->images = images;
	ps->history = history;
	ps->strings = strings;
	ps->period = 1;
	return ps;
}

static void forget_names(struct process *p)
{
	u64_map_fini(&p->seen[0]);
	u64_map_fini(&p->seen[1]);
	p->seen[0] = p->seen[1] = (struct u64_map){};
}

static void process_free(struct process *p)
{
	forget_names(p);
	free(p);
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < ps->n; i++)
		process_free(ps->list[i]);
	free(ps->list);
	u64_map_fini(&ps->by_id);
	free(ps);
}

void processes_forget_names(struct processes *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		forget_names(ps->list[i]);
}

/* Some that were kept may be gone. */
static void forget_lives(struct processes *ps)
{
	if (ps->n_dropped == history_dropped(ps->history))
		return;
	ps->n_dropped = history_dropped(ps->history);
	for (size_t i = 0; i < ps->n; i++)
		ps->list[i]->program = NULL;
}

/* What was announced or used since the last refresh is about to be reported: it is kept. */
void processes_refresh(struct processes *ps)
{
	const bool are_many = ps->n > MANY_PROCESSES;
	size_t n = 0;

	ps->period++;
	ps->last = NULL;
	if (are_many)
		u64_map_clear(&ps->by_id);
	for (size_t i = 0; i < ps->n; i++) {
		struct process *p = ps->list[i];

		p->program = NULL; /* may be forgotten */
		if (are_many && p->period_used + 2 <= ps->period) {
			process_free(p);
			continue;
		}
		if (are_many)
			u64_map_put(&ps->by_id, p->id, (uint32_t)n, NULL);
		ps->list[n++] = p;
	}
	ps->n = n;
}

struct process *processes_get(struct processes *ps, uint64_t id)
{
	forget_lives(ps);
	if (ps->last && ps->last->id == id)
		return ps->last;

	bool is_new;
	uint32_t number = *u64_map_put(&ps->by_id, id, ps->n, &is_new);

	if (is_new) {
		struct process *made = xcalloc(1, sizeof(*made));

		made->id = id;
		made->tgid = tgid_of_key(id);
		made->since = UINT64_MAX;
		array_push(ps->list, ps->n, ps->capacity, made);
	}
	ps->last = ps->list[number];
	return ps->last;
}

/* The program that ran when the process was seen. Without any, it was there before all. */
static const struct program *program_of(struct processes *ps, struct process *p, uint64_t time)
{
	const bool is_first = p->period_used != ps->period;

	p->period_used = ps->period;
	if (is_first && !history_is_followed(ps->history))
		history_look_again(ps->history, p->tgid);
	if (p->program)
		return p->program;
	time = p->first ? p->first : time;
	p->program = history_keep(ps->history, p->tgid, time, p->since);
	if (!p->program) {
		history_look(ps->history, p->tgid);
		p->program = history_keep(ps->history, p->tgid, time, p->since);
	}
	return p->program;
}

void processes_announce(struct processes *ps, uint64_t id, const struct sighting *seen)
{
	struct process *p = processes_get(ps, id);

	if (seen->time && (!p->first || seen->time < p->first)) {
		p->first = seen->time;
		p->since = seen->since;
	}
	history_seen(ps->history, p->tgid, seen);
	if (seen->comm && seen->comm[0])
		p->comm = strtab_add(ps->strings, seen->comm);
	forget_lives(ps);
	p->program = NULL;
	(void)program_of(ps, p, 0);
}

/* The kernel's name for the idle task of a row; see KEY_LIFE_SHIFT. NULL: it has none. */
static const char *idle_comm(struct processes *ps, uint64_t id)
{
	char comm[32];

	if (tgid_of_key(id) || !life_of_key(id))
		return NULL;
	(void)snprintf(comm, sizeof(comm), "swapper/%u", life_of_key(id) - 1);
	return strtab_add(ps->strings, comm);
}

const char *processes_comm(struct processes *ps, uint64_t id, uint64_t time)
{
	const char *idle = idle_comm(ps, id);

	if (idle)
		return idle;

	struct process *p = processes_get(ps, id);
	const struct program *program = program_of(ps, p, time);
	const char *comm = program ? history_comm(ps->history, program, time) : NULL;

	if (comm)
		return strtab_add(ps->strings, comm);
	return p->comm ? p->comm : "";
}

uint32_t processes_epoch(struct processes *ps, struct process *p, uint64_t time)
{
	const struct program *program = program_of(ps, p, time);

	return program ? space_epoch(program->space, time ? time : UINT64_MAX - 1) : 0;
}

void processes_jit_of(const struct processes *ps, const struct program *program,
		      struct jit_process *ret)
{
	*ret = (struct jit_process){ .tgid = program->tgid,
				     .user = program->user,
				     .begin = program_began(program),
				     .end = program->exited < program->end ? program->exited
									   : program->end,
				     .root = program->root,
				     .is_followed = history_is_followed(ps->history) };
}

void processes_jit(struct processes *ps, struct process *p, uint64_t time, struct jit_process *ret)
{
	const struct program *program = program_of(ps, p, time);

	*ret = (struct jit_process){
		.tgid = p->tgid, .user = USER_UNKNOWN, .end = UINT64_MAX, .root = -1
	};
	if (program)
		processes_jit_of(ps, program, ret);
}

const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr,
					 uint64_t time)
{
	const struct region *region = p->program ? space_at(p->program->space, addr, time) : NULL;

	if (region && images_has_places(ps->images, region->image))
		return region;
	if (!p->program || p->program->is_whole || !program_runs(p->program))
		return region;
	history_look_again(ps->history, p->tgid);
	return space_at(p->program->space, addr, time);
}
