/*
 * Three things may come late or not at all, and all are decided by time:
 *
 * - Events are read in batches, so a look at /proc may show what was begun by an exec or by another
 *   process whose event is still to come: forget_look().
 * - The kernel counts an exec at its end, and tells the new name in the midst: history_keep().
 * - Records are lost: nothing that was known of a running process is taken for what it does
 *   afterwards, on_lost().
 */
#include "processes/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernel/host.h"

/* Threads of which it is known what they made last. */
#define MANY_MAKERS 4096

struct history {
	struct programs programs;
	uint32_t *changed; /* processes: history_changed() */
	size_t n_changed, cap_changed;
	struct u64_map made; /* of threads: the process that each made last */
	bool is_followed;
	int own_root;
};

struct history *history_new(struct images *images)
{
	struct history *h = xcalloc(1, sizeof(*h));

	programs_init(&h->programs, images);
	h->own_root = images_root(images, (uint32_t)getpid());
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	programs_fini(&h->programs);
	free(h->changed);
	u64_map_fini(&h->made);
	free(h);
}

void history_follow(struct history *h)
{
	h->is_followed = true;
}

bool history_is_followed(const struct history *h)
{
	return h->is_followed;
}

uint64_t history_dropped(const struct history *h)
{
	return h->programs.n_dropped;
}

uint64_t history_dropped_regions(const struct history *h)
{
	return h->programs.spaces.n_forgotten;
}

static struct images *images_of(const struct history *h)
{
	return h->programs.spaces.images;
}

/* --- events --- */

/* If it has gone and nothing is known of it, ours may do: only the file itself is ever taken. */
static int root_of(struct history *h, uint32_t pid, int before)
{
	const int root = images_root(images_of(h), pid);

	if (root >= 0)
		return root;
	return before >= 0 ? before : h->own_root;
}

/* A SHARE follows at once, or never. */
static void note_maker(struct history *h, const struct process_event *event)
{
	if (h->made.n >= MANY_MAKERS)
		u64_map_clear(&h->made);
	*u64_map_put(&h->made, event->parent_tid, 0, NULL) = event->pid;
}

/* The child has not run yet. */
static void on_share(struct history *h, const struct process_event *event)
{
	const uint32_t *made = u64_map_get(&h->made, event->tid);
	struct program *child = made ? programs_newest(&h->programs, *made) : NULL;

	if (!child || child->is_exec)
		return;
	space_drop(&h->programs.spaces, child->space);
	child->space = space_share(programs_current(&h->programs, event->pid)->space);
}

static void on_fork(struct history *h, const struct process_event *event)
{
	if (event->pid == event->parent_pid)
		return; /* a thread */
	history_look(h, event->parent_pid);

	struct program *parent = programs_current(&h->programs, event->parent_pid);
	struct program *child = programs_begin(&h->programs, event->pid, event->time,
					       space_copy(&h->programs.spaces, parent->space));

	if (parent->root < 0)
		parent->root = root_of(h, parent->tgid, -1);
	child->root = parent->root;
	child->is_whole = parent->is_whole;
	if (event->parent_tid == event->parent_pid) { /* else it has a thread's name */
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->is_named = parent->is_named;
	}
	note_maker(h, event);
	programs_bound(&h->programs, event->time);
}

static void on_exec(struct history *h, const struct process_event *event)
{
	struct program *former = programs_current(&h->programs, event->pid);
	const int root = root_of(h, event->pid, former->root);
	struct program *program = programs_begin(&h->programs, event->pid, event->time,
						 space_new(&h->programs.spaces));

	program->root = root;
	program_set_comm(program, event->comm);
	program->is_named = true;
	program->is_exec = true;
	program->is_whole = true;
}

/* The other processes that have this address space. */
static void note_sharers(struct history *h, const struct program *program)
{
	for (size_t i = 0; i < h->programs.n_heads && space_is_shared(program->space); i++)
		if (h->programs.heads[i] && h->programs.heads[i] != program &&
		    h->programs.heads[i]->space == program->space)
			array_push(h->changed, h->n_changed, h->cap_changed,
				   h->programs.heads[i]->tgid);
}

static bool on_map(struct history *h, const struct process_event *event)
{
	struct program *program = programs_current(&h->programs, event->pid);
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(images_of(h), event->pid, program->root, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	const bool is_replaced = space_map(&h->programs.spaces, program->space, &region);

	if (is_replaced)
		note_sharers(h, program);
	return is_replaced;
}

/*
 * After @event->since each process may run another program, or be another one. What has begun since
 * then may have more mapped than was told.
 */
static void on_lost(struct history *h, const struct process_event *event)
{
	u64_map_clear(&h->made);
	for (size_t i = 0; i < h->programs.n_heads; i++) {
		struct program *program = h->programs.heads[i];

		if (program->begin > event->since) {
			program->is_whole = false;
			continue;
		}
		if (program->exited != UINT64_MAX ||
		    (!program->is_whole && space_is_empty(program->space)))
			continue;
		program = programs_begin(&h->programs, program->tgid, event->since,
					 space_new(&h->programs.spaces));
		program->root = program->older ? program->older->root : -1;
	}
}

/* A process has the name of its first thread. */
static void on_comm(struct history *h, const struct process_event *event)
{
	if (event->pid == event->tid)
		program_rename(&h->programs, programs_current(&h->programs, event->pid),
			       event->comm, event->time);
}

static void on_end(struct history *h, const struct process_event *event)
{
	if (event->pid == event->tid)
		programs_current(&h->programs, event->pid)->exited = event->time;
}

bool history_event(struct history *h, const struct process_event *event)
{
	static void (*const on_event[])(struct history *, const struct process_event *) = {
		[PROCESS_FORK] = on_fork, [PROCESS_SHARE] = on_share, [PROCESS_EXEC] = on_exec,
		[PROCESS_COMM] = on_comm, [PROCESS_EXIT] = on_end,    [PROCESS_LOST] = on_lost,
	};
	const bool is_ours = event->pid && event->pid != UINT32_MAX; /* of our PID namespace */

	if (!is_ours && event->type != PROCESS_LOST)
		return false;
	if (event->type == PROCESS_MAP)
		return on_map(h, event);
	on_event[event->type](h, event);
	return false;
}

uint32_t history_changed(struct history *h)
{
	return h->n_changed ? h->changed[--h->n_changed] : 0;
}

/* --- what is there already --- */

static void look_at_comm(struct program *program)
{
	char comm[32] = "";

	program->named_at = clock_ns(CLOCK_MONOTONIC);
	host_pid_comm(program->tgid, comm, sizeof(comm));
	if (comm[0])
		program_set_comm(program, comm);
}

/*
 * @m is mapped now. What events told is newer, or will be soon. Where there are none, and something
 * else was there when the process was looked at before, it is not known what was there in between.
 */
static void see_mapping(struct history *h, struct program *program, int pid,
			const struct mapping *m)
{
	struct region region = { .start = m->start,
				 .end = m->end,
				 .offset = m->offset,
				 .image = images_add(images_of(h), pid, program->root, m,
						     &(struct file_stamp){}),
				 .until = UINT64_MAX };

	if (space_add_if_free(&h->programs.spaces, program->space, &region) || h->is_followed)
		return;
	region.from = clock_ns(CLOCK_MONOTONIC);
	space_replace(&h->programs.spaces, program->space, &region, program->looked_at);
}

void history_look(struct history *h, uint32_t tgid)
{
	struct program *program = programs_newest(&h->programs, tgid);
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct error e;

	if (program && program->is_whole)
		return;
	if (program)
		program->looked_in = h->programs.period;

	const int err = mapping_list_read(tgid, &list, &e);

	images_note_error(images_of(h), err);
	if (err)
		log_debug("process %u: %s", tgid, e.text);
	if (err || !list.n)
		return;
	program = programs_current(&h->programs, tgid);
	program->looked_in = h->programs.period;
	program->root = images_root(images_of(h), list.tid);
	space_part(&h->programs.spaces, &program->space);
	for (size_t i = 0; i < list.n; i++)
		see_mapping(h, program, list.tid, &list.mappings[i]);
	if (!h->is_followed || !program_has_comm(program))
		look_at_comm(program);
	program->is_whole = h->is_followed;
	program->looked_at = clock_ns(CLOCK_MONOTONIC);
}

void history_look_again(struct history *h, uint32_t tgid)
{
	const struct program *program = programs_newest(&h->programs, tgid);

	if (!program || (program_runs(program) && program->looked_in != h->programs.period))
		history_look(h, tgid);
}

/* No event tells it. */
static void note_ended(struct history *h, uint64_t now)
{
	for (size_t i = 0; i < h->programs.n_heads; i++) {
		struct program *program = h->programs.heads[i];

		if (program && program_runs(program) && !host_pid_exists(program->tgid))
			program->exited = now;
	}
}

void history_refresh(struct history *h)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	h->programs.period++;
	if (h->is_followed)
		return;
	note_ended(h, now);
	programs_bound(&h->programs, now);
}

/* No event tells it, but the programs in the kernel have counted an exec then. */
static void begin_counted(struct history *h, uint32_t tgid, uint64_t since)
{
	const struct program *newest = programs_newest(&h->programs, tgid);

	if (!since || since == UINT64_MAX || (newest && newest->begin >= since))
		return;
	programs_begin(&h->programs, tgid, since, space_new(&h->programs.spaces))->is_exec = true;
}

void history_seen(struct history *h, uint32_t tgid, const struct sighting *seen)
{
	struct program *program;

	if (!h->is_followed)
		begin_counted(h, tgid, seen->since);
	history_look(h, tgid);
	program = programs_at(&h->programs, tgid, seen->time, seen->since);
	if (!program)
		return;
	program->is_seen = true;
	program->user = seen->user;
}

const struct program *history_hit(const struct history *h, uint32_t tgid)
{
	const struct program *program = programs_newest(&h->programs, tgid);

	return program && program->is_seen ? program : NULL;
}

/* --- questions --- */

const struct program *history_keep(struct history *h, uint32_t tgid, uint64_t time, uint64_t since)
{
	struct program *program = programs_at(&h->programs, tgid, time, since);

	if (program)
		program->kept = h->programs.period;
	return program;
}

const char *history_comm(struct history *h, const struct program *program, uint64_t time)
{
	struct program *newest = programs_newest(&h->programs, program->tgid);

	if (!program_has_comm(program) && newest == program && program_runs(program))
		look_at_comm(newest);
	return program_comm(program, time);
}

size_t history_bytes(const struct history *h)
{
	return programs_bytes(&h->programs);
}
