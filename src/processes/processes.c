// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Facts may come late, or not at all. Times decide in three cases:
 *
 * - The tool reads events in batches. So a look at /proc may already show the next program, before
 *   its event has come. Then forget_look() takes it back.
 * - BPF counts an exec at its end, but the kernel changes the name in the midst: programs_at().
 * - Records were lost. After that, the tool trusts nothing that it knew of running processes:
 *   on_lost_event().
 */
#include "processes/processes.h"

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
#include "bpf/abi.h"
#include "processes/listing.h"
#include "processes/looks.h"
#include "reader/roots.h"

/* The map of makers is emptied when it has this many threads. */
#define MANY_MAKERS 4096

/* With more keys than this, a report forgets those that were not used in the period before it. */
#define MANY_KEYS 128
/* A run may have no reports. At this many keys, the older half is forgotten. */
#define MOST_KEYS 65536

/* A process by its key, as rows of hits have it. */
struct keyed {
	uint64_t key;
	uint64_t first;          /* its first hit; 0: not known */
	uint64_t since;          /* see programs_at() */
	struct program *program; /* NULL: not known, or not looked up yet */
	uint64_t used_in;        /* period of the last question about it */
	char comm[COMM_BYTES];   /* at the first hit; "": not known */
};

/* The longest time for the looks of processes_refresh(). */
#define REFRESH_NS (NS_PER_S / 4)

struct processes {
	struct programs programs;
	struct u64_map by_key; /* index in @keys */
	struct keyed *keys;
	size_t n_keys, cap_keys;
	uint64_t n_unnamed; /* forgotten keys that had the only name of their process */
	struct keyed *last; /* the last result of keyed_of(): the frames of a stack have one key */
	uint64_t n_dropped; /* programs.n_dropped, as forget_dropped() saw it last */
	uint32_t *changed;  /* the processes that processes_changed() returns */
	size_t n_changed, cap_changed;
	struct u64_map made; /* tid -> the process that it made last */
	struct looks looks;
};

struct processes *processes_new(struct remote_files *files, size_t most_roots)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));
	struct images *images = images_new(files);

	roots_bound(images_roots(images), most_roots);
	programs_init(&ps->programs, images);
	ps->looks.programs = &ps->programs;
	return ps;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	programs_fini(&ps->programs);
	images_free(processes_images(ps));
	u64_map_fini(&ps->by_key);
	free(ps->keys);
	free(ps->changed);
	u64_map_fini(&ps->made);
	late_fini(&ps->looks.late);
	free(ps);
}

struct images *processes_images(const struct processes *ps)
{
	return ps->programs.spaces.images;
}

void processes_follow(struct processes *ps)
{
	ps->looks.is_followed = true;
}

struct forgotten processes_forgotten(const struct processes *ps)
{
	return (struct forgotten){ ps->programs.n_dropped + ps->n_unnamed,
				   ps->programs.spaces.n_forgotten };
}

size_t processes_bytes(const struct processes *ps)
{
	return programs_bytes(&ps->programs) + ps->cap_keys * sizeof(*ps->keys) +
	       ps->by_key.n_slots * sizeof(*ps->by_key.slots);
}

/* --- events --- */

/* Remember the child for on_share_event(): a SHARE comes right after its FORK, or never. */
static void note_maker(struct processes *ps, const struct process_event *event)
{
	if (ps->made.n >= MANY_MAKERS)
		u64_map_clear(&ps->made);
	*u64_map_put(&ps->made, event->parent_tid, 0, NULL) = event->pid;
}

/* The child has not run yet: its space is a copy of the maker's. Share the maker's instead. */
static void on_share_event(struct processes *ps, const struct process_event *event)
{
	const uint32_t *made = u64_map_get(&ps->made, event->tid);
	struct program *child = made ? programs_newest(&ps->programs, *made) : NULL;

	if (!child || child->is_exec)
		return;
	space_drop(&ps->programs.spaces, child->space);
	child->space = space_share(programs_current(&ps->programs, event->pid)->space);
}

static void on_fork_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->parent_pid)
		return; /* a new thread */
	processes_look(ps, event->parent_pid);

	struct program *parent = programs_current(&ps->programs, event->parent_pid);
	struct program *child = programs_begin(&ps->programs, event->pid, event->time,
					       space_copy(&ps->programs.spaces, parent->space));

	if (parent->mapper.root < 0)
		images_find_root(processes_images(ps), &parent->mapper);
	child->mapper.root = parent->mapper.root;
	child->is_whole = parent->is_whole;
	if (parent->walked && !child->walked)
		child->walked = event->time;
	if (event->parent_tid == event->parent_pid) { /* else its name is another thread's */
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->is_named = parent->is_named;
	}
	note_maker(ps, event);
}

static void on_exec_event(struct processes *ps, const struct process_event *event)
{
	const int root = programs_current(&ps->programs, event->pid)->mapper.root;
	struct program *program = programs_begin(&ps->programs, event->pid, event->time,
						 space_new(&ps->programs.spaces));

	program->mapper.root = root; /* unless it has entered another one: images_find_root() */
	program_set_comm(program, event->comm);
	program->is_named = true;
	program->is_exec = true;
	program->is_whole = true;
}

/* Add the other processes with this address space to @changed. */
static void note_sharers(struct processes *ps, const struct program *program)
{
	for (size_t i = 0; i < ps->programs.n_heads && space_is_shared(program->space); i++)
		if (ps->programs.heads[i] && ps->programs.heads[i] != program &&
		    ps->programs.heads[i]->space == program->space)
			array_push(ps->changed, ps->n_changed, ps->cap_changed,
				   ps->programs.heads[i]->tgid);
}

static void on_map_event(struct processes *ps, const struct process_event *event,
			 struct process_news *news)
{
	struct program *program = programs_current(&ps->programs, event->pid);
	const uint32_t newest = images_newest(processes_images(ps));
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(processes_images(ps), &program->mapper, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	news->is_replaced = space_map(&ps->programs.spaces, program->space, &region, event->time);
	news->is_new_file = region.image->number > newest && region.image->kind == IMAGE_FILE;
	news->has_mapped = program->walked;
	if (program->is_seen)
		images_note_hit(processes_images(ps), region.image);
	if (news->is_replaced)
		note_sharers(ps, program);
}

/* The next question about a key looks up its program again. */
static void forget_programs(struct processes *ps)
{
	for (size_t i = 0; i < ps->n_keys; i++)
		ps->keys[i].program = NULL;
}

/* Keys may have wrong programs: a hit after the loss may have been reported before the loss was. */
static void on_lost_event(struct processes *ps, const struct process_event *event)
{
	u64_map_clear(&ps->made);
	programs_lose(&ps->programs, event->since);
	forget_programs(ps);
}

/* A process has the name of its first thread. */
static void on_comm_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		program_rename(&ps->programs, programs_current(&ps->programs, event->pid),
			       event->comm, event->time);
}

static void on_end_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		programs_current(&ps->programs, event->pid)->exited = event->time;
}

struct process_news processes_event(struct processes *ps, const struct process_event *event)
{
	static void (*const on_event[])(struct processes *, const struct process_event *) = {
		[PROCESS_FORK] = on_fork_event, [PROCESS_SHARE] = on_share_event,
		[PROCESS_EXEC] = on_exec_event, [PROCESS_COMM] = on_comm_event,
		[PROCESS_EXIT] = on_end_event,  [PROCESS_LOST] = on_lost_event,
	};
	const bool is_ours = event->pid && event->pid != UINT32_MAX; /* of our PID namespace */
	struct process_news news = {};

	if (!is_ours && event->type != PROCESS_LOST)
		return news;
	if (event->type == PROCESS_EXEC ||
	    (event->type == PROCESS_EXIT && event->pid == event->tid))
		news.is_over = programs_current(&ps->programs, event->pid)->walked;
	if (event->type == PROCESS_MAP)
		on_map_event(ps, event, &news);
	else
		on_event[event->type](ps, event);
	programs_bound(&ps->programs, event->time);
	return news;
}

void processes_walk(struct processes *ps, uint32_t tgid)
{
	programs_current(&ps->programs, tgid)->walked = clock_ns(CLOCK_MONOTONIC);
}

bool processes_is_walked(const struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	return program && program->walked;
}

uint32_t processes_changed(struct processes *ps)
{
	return ps->n_changed ? ps->changed[--ps->n_changed] : 0;
}

/* --- reading mappings from /proc --- */

/* Mappings that were forgotten for their size are read again after a hit only: processes_seen(). */
void processes_look(struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program ||
	    (!space_is_forgotten(program->space) && program->looked_in != ps->programs.period))
		looks_read(&ps->looks, tgid);
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
}

uint32_t processes_look_late(struct processes *ps)
{
	const uint32_t tgid = looks_read_late(&ps->looks);

	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
	return tgid;
}

uint64_t processes_late_due(const struct processes *ps)
{
	return late_due(&ps->looks.late);
}

void processes_settle(struct processes *ps, uint64_t until)
{
	looks_settle(&ps->looks, until);
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
}

/* --- keys --- */

static void index_keys(struct processes *ps)
{
	u64_map_clear(&ps->by_key);
	for (size_t i = 0; i < ps->n_keys; i++)
		(void)u64_map_put(&ps->by_key, ps->keys[i].key, (uint32_t)i, NULL);
}

static void forget_keys(struct processes *ps)
{
	const bool are_many = ps->n_keys > MANY_KEYS;
	size_t n = 0;

	ps->last = NULL;
	for (size_t i = 0; i < ps->n_keys; i++) {
		struct keyed one = ps->keys[i];

		one.program = NULL; /* it may be freed soon */
		if (are_many && one.used_in + 2 <= ps->programs.period)
			continue;
		ps->keys[n++] = one;
	}
	ps->n_keys = n;
	if (are_many)
		index_keys(ps);
}

/*
 * Rows still find their programs, by their own times. But if a process has no program, the key had
 * the only name.
 */
static void forget_oldest_keys(struct processes *ps)
{
	const size_t n = ps->n_keys / 2;

	for (size_t i = 0; i < n; i++)
		ps->n_unnamed += ps->keys[i].comm[0] &&
				 !programs_newest(&ps->programs, tgid_of_key(ps->keys[i].key));
	ps->last = NULL;
	ps->n_keys -= n;
	memmove(ps->keys, ps->keys + n, ps->n_keys * sizeof(*ps->keys));
	index_keys(ps);
}

/* The report is about the period that ends here, so programs and keys used in it are kept. */
void processes_refresh(struct processes *ps)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	ps->programs.period++;
	images_refresh(processes_images(ps));
	forget_keys(ps);
	if (!ps->looks.is_followed) {
		late_forget_all(&ps->looks.late);
		programs_note_ended(&ps->programs, now);
	}
	looks_read_hit(&ps->looks, now + REFRESH_NS);
	programs_bound(&ps->programs, now);
}

static void forget_dropped(struct processes *ps)
{
	if (ps->n_dropped != ps->programs.n_dropped)
		forget_programs(ps);
	ps->n_dropped = ps->programs.n_dropped;
}

/*
 * The entry of @key, new if there was none. Lent until the next call. A second call for the same
 * key forgets no program.
 */
static struct keyed *keyed_of(struct processes *ps, uint64_t key)
{
	const bool is_last = ps->last && ps->last->key == key;

	if (!is_last)
		programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
	forget_dropped(ps);
	if (is_last)
		return ps->last;

	if (ps->n_keys >= MOST_KEYS && !u64_map_get(&ps->by_key, key))
		forget_oldest_keys(ps);

	bool is_new;
	const uint32_t i = *u64_map_put(&ps->by_key, key, (uint32_t)ps->n_keys, &is_new);

	if (is_new)
		array_push(ps->keys, ps->n_keys, ps->cap_keys,
			   ((struct keyed){ .key = key, .since = UINT64_MAX }));
	ps->last = &ps->keys[i];
	return ps->last;
}

/* Keeps the program, and its files, until the second processes_refresh() from now. */
static struct program *find_program(struct processes *ps, const struct keyed *k, uint64_t time)
{
	struct program *program = programs_at(&ps->programs, tgid_of_key(k->key),
					      k->first ? k->first : time, k->since);

	if (!program || program->kept == ps->programs.period)
		return program;
	program->kept = ps->programs.period;
	if (program->is_seen)
		space_note_hit(processes_images(ps), program->space);
	return program;
}

/* The program at the first hit of @key; if that hit is not known, at @time. NULL: not known. */
static struct program *program_of(struct processes *ps, uint64_t key, uint64_t time)
{
	struct keyed *k = keyed_of(ps, key);

	k->used_in = ps->programs.period;
	if (!k->program)
		k->program = find_program(ps, k, time);
	return k->program;
}

void processes_seen(struct processes *ps, uint64_t key, const struct sighting *seen)
{
	struct keyed *k = keyed_of(ps, key);
	struct program *program;

	if (seen->time && (!k->first || seen->time < k->first)) {
		k->first = seen->time;
		k->since = seen->since;
	}
	if (seen->comm && seen->comm[0])
		(void)snprintf(k->comm, sizeof(k->comm), "%s", seen->comm);
	if (!ps->looks.is_followed)
		programs_begin_counted(&ps->programs, tgid_of_key(key), seen->since);
	looks_read(&ps->looks, tgid_of_key(key));
	k->program = NULL;
	program = program_of(ps, key, 0);
	if (!program)
		return;
	program->user = seen->user;
	if (program_runs(program)) {
		images_find_root(processes_images(ps), &program->mapper);
		if (!program_has_comm(program))
			program_read_comm(program);
	}
	if (!program->is_seen)
		space_note_hit(processes_images(ps), program->space);
	program->is_seen = true; /* from here on, on_map_event() notes hits of its images */
}

/* --- questions --- */

bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret)
{
	const struct program *program = program_of(ps, key, time);
	const struct region *region = program ? space_at(program->space, addr, time) : NULL;

	if (region)
		*ret = (struct place){ region->start, addr - region->start + region->offset,
				       region->image->number, region->end };
	return region != NULL;
}

uint32_t processes_copied(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr)
{
	const struct program *program = program_of(ps, key, time);
	const struct image_entry *image = program ? space_copied(program->space, addr, time) : NULL;

	return image ? image->number : IMAGE_NONE;
}

bool processes_list(struct processes *ps, uint64_t key, uint64_t time, struct remote_list *ret)
{
	const struct program *program = program_of(ps, key, time);

	if (program)
		listing_make(program->space, time, ret);
	return program != NULL;
}

uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time)
{
	const struct program *program = program_of(ps, key, time);

	return program ? space_epoch(program->space, time ? time : UINT64_MAX - 1) : 0;
}

void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES])
{
	const struct program *program;
	const char *comm;

	if (!tgid_of_key(key) && life_of_key(key)) { /* an idle task: see KEY_LIFE_SHIFT */
		(void)snprintf(ret, COMM_BYTES, "swapper/%u", (uint16_t)(life_of_key(key) - 1));
		return;
	}
	program = program_of(ps, key, time);
	comm = program ? program_comm(program, time) : NULL;
	(void)snprintf(ret, COMM_BYTES, "%s", comm ? comm : keyed_of(ps, key)->comm);
}

static void describe_run(const struct processes *ps, const struct program *program,
			 struct program_run *ret)
{
	*ret = (struct program_run){
		.tgid = program->tgid,
		.user = program->user,
		.begin = program_began(program),
		.end = program_over_at(program),
		.root = program->mapper.root,
		.is_followed = ps->looks.is_followed,
		.has_memory = space_has_memory(program->space),
	};
}

void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret)
{
	const struct program *program = program_of(ps, key, time);

	*ret = (struct program_run){
		.tgid = tgid_of_key(key), .user = USER_UNKNOWN, .end = UINT64_MAX, .root = -1
	};
	if (program)
		describe_run(ps, program, ret);
}

bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || !program->is_seen)
		return false;
	describe_run(ps, program, ret);
	return true;
}
