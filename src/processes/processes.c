/*
 * Three things may come late or not at all, and all are decided by time:
 *
 * - Events are read in batches, so a look at /proc may show what was begun by an exec or by another
 *   process whose event is still to come: forget_look().
 * - The kernel counts an exec at its end, and tells the new name in the midst: programs_at().
 * - Records are lost: nothing that was known of a running process is taken for what it does
 *   afterwards, on_lost().
 */
#include "processes/processes.h"

#include <errno.h>
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
#include "reader/roots.h"

/* Threads of which it is known what they made last. */
#define MANY_MAKERS 4096

/* Keys are forgotten when there are so many, and they were in no report for a while. */
#define MANY_KEYS 128

/* A process as rows of hits have it. */
struct keyed {
	uint64_t key;
	uint64_t first;          /* its first hit; 0: not known */
	uint64_t since;          /* see programs_at() */
	struct program *program; /* NULL: not known, or not asked for yet */
	uint64_t used_in;        /* the period in which it was asked for last */
	char comm[COMM_BYTES];   /* with the first hit; "": not known */
};

struct processes {
	struct programs programs;
	struct u64_map by_key; /* index in @keys */
	struct keyed *keys;
	size_t n_keys, cap_keys;
	struct keyed *last; /* stacks are looked up frame by frame: mostly the same again */
	uint64_t n_dropped; /* of programs: then those of @keys may be gone */
	uint32_t *changed;  /* processes: processes_changed() */
	size_t n_changed, cap_changed;
	struct u64_map made; /* of threads: the process that each made last */
	struct u64_map late; /* processes whose list did not come in time, in this period */
	bool is_followed;
};

struct processes *processes_new(struct images *images)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));

	programs_init(&ps->programs, images);
	return ps;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	programs_fini(&ps->programs);
	u64_map_fini(&ps->by_key);
	free(ps->keys);
	free(ps->changed);
	u64_map_fini(&ps->made);
	u64_map_fini(&ps->late);
	free(ps);
}

void processes_follow(struct processes *ps)
{
	ps->is_followed = true;
}

struct forgotten processes_forgotten(const struct processes *ps)
{
	return (struct forgotten){ ps->programs.n_dropped, ps->programs.spaces.n_forgotten };
}

size_t processes_bytes(const struct processes *ps)
{
	return programs_bytes(&ps->programs) + ps->cap_keys * sizeof(*ps->keys) +
	       ps->by_key.n_slots * sizeof(*ps->by_key.slots);
}

static struct images *images_of(const struct processes *ps)
{
	return ps->programs.spaces.images;
}

/* --- events --- */

/* A SHARE follows at once, or never. */
static void note_maker(struct processes *ps, const struct process_event *event)
{
	if (ps->made.n >= MANY_MAKERS)
		u64_map_clear(&ps->made);
	*u64_map_put(&ps->made, event->parent_tid, 0, NULL) = event->pid;
}

/* The child has not run yet. */
static void on_share(struct processes *ps, const struct process_event *event)
{
	const uint32_t *made = u64_map_get(&ps->made, event->tid);
	struct program *child = made ? programs_newest(&ps->programs, *made) : NULL;

	if (!child || child->is_exec)
		return;
	space_drop(&ps->programs.spaces, child->space);
	child->space = space_share(programs_current(&ps->programs, event->pid)->space);
}

static void on_fork(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->parent_pid)
		return; /* a thread */
	processes_look(ps, event->parent_pid);

	struct program *parent = programs_current(&ps->programs, event->parent_pid);
	struct program *child = programs_begin(&ps->programs, event->pid, event->time,
					       space_copy(&ps->programs.spaces, parent->space));

	if (parent->mapper.root < 0)
		images_find_root(images_of(ps), &parent->mapper);
	child->mapper.root = parent->mapper.root;
	child->mapper.is_root_sure = parent->mapper.is_root_sure;
	child->is_whole = parent->is_whole;
	if (parent->walked && !child->walked)
		child->walked = event->time;
	if (event->parent_tid == event->parent_pid) { /* else it has a thread's name */
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->is_named = parent->is_named;
	}
	note_maker(ps, event);
}

static void on_exec(struct processes *ps, const struct process_event *event)
{
	const int root = programs_current(&ps->programs, event->pid)->mapper.root;
	struct program *program = programs_begin(&ps->programs, event->pid, event->time,
						 space_new(&ps->programs.spaces));

	program->mapper.root = root; /* it may have entered another one */
	program_set_comm(program, event->comm);
	program->is_named = true;
	program->is_exec = true;
	program->is_whole = true;
}

/* The other processes that have this address space. */
static void note_sharers(struct processes *ps, const struct program *program)
{
	for (size_t i = 0; i < ps->programs.n_heads && space_is_shared(program->space); i++)
		if (ps->programs.heads[i] && ps->programs.heads[i] != program &&
		    ps->programs.heads[i]->space == program->space)
			array_push(ps->changed, ps->n_changed, ps->cap_changed,
				   ps->programs.heads[i]->tgid);
}

static void on_map(struct processes *ps, const struct process_event *event,
		   struct process_news *news)
{
	struct program *program = programs_current(&ps->programs, event->pid);
	const uint32_t newest = images_newest(images_of(ps));
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(images_of(ps), &program->mapper, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	news->is_replaced = space_map(&ps->programs.spaces, program->space, &region);
	news->is_new_file =
		region.image > newest && images_kind(images_of(ps), region.image) == IMAGE_FILE;
	news->has_mapped = program->walked;
	if (program->is_seen)
		images_note_hit(images_of(ps), region.image);
	if (news->is_replaced)
		note_sharers(ps, program);
}

/*
 * After @event->since each process may run another program, or be another one. What has begun since
 * then may have more mapped than was told.
 */
static void on_lost(struct processes *ps, const struct process_event *event)
{
	u64_map_clear(&ps->made);
	for (size_t i = 0; i < ps->programs.n_heads; i++) {
		struct program *program = ps->programs.heads[i];

		if (program->begin > event->since) {
			program->is_whole = false;
			continue;
		}
		if (program->exited != UINT64_MAX ||
		    (!program->is_whole && space_is_empty(program->space)))
			continue;
		program = programs_begin(&ps->programs, program->tgid, event->since,
					 space_new(&ps->programs.spaces));
		program->mapper.root = program->older ? program->older->mapper.root : -1;
		program->walked = program->older ? program->older->walked : 0;
	}
}

/* A process has the name of its first thread. */
static void on_comm(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		program_rename(&ps->programs, programs_current(&ps->programs, event->pid),
			       event->comm, event->time);
}

static void on_end(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		programs_current(&ps->programs, event->pid)->exited = event->time;
}

struct process_news processes_event(struct processes *ps, const struct process_event *event)
{
	static void (*const on_event[])(struct processes *, const struct process_event *) = {
		[PROCESS_FORK] = on_fork, [PROCESS_SHARE] = on_share, [PROCESS_EXEC] = on_exec,
		[PROCESS_COMM] = on_comm, [PROCESS_EXIT] = on_end,    [PROCESS_LOST] = on_lost,
	};
	const bool is_ours = event->pid && event->pid != UINT32_MAX; /* of our PID namespace */
	struct process_news news = {};

	if (!is_ours && event->type != PROCESS_LOST)
		return news;
	if (event->type == PROCESS_EXEC ||
	    (event->type == PROCESS_EXIT && event->pid == event->tid))
		news.is_over = programs_current(&ps->programs, event->pid)->walked;
	if (event->type == PROCESS_MAP)
		on_map(ps, event, &news);
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

/* --- what is there already --- */

/* Nothing of it was forgotten that ran once it was followed. */
static bool is_all_known(const struct program *program)
{
	return program->is_whole && !space_is_forgotten(program->space);
}

/*
 * All of @list are mapped now. Events are newer, or will be soon. Without events nobody knows what
 * was there since the last look, if something else was there then.
 */
static void see_mappings(struct processes *ps, struct program *program,
			 const struct mapping_list *list)
{
	cleanup_free struct region *regions = xcalloc(list->n, sizeof(*regions));
	cleanup_free uint32_t *added = xcalloc(list->n, sizeof(*added));
	size_t n_others;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];

		added[i] = images_add(images_of(ps), &program->mapper, m, &(struct file_stamp){});
		images_hold(images_of(ps), added[i]);
		regions[i] = (struct region){ .start = m->start,
					      .end = m->end,
					      .offset = m->offset,
					      .image = added[i],
					      .until = UINT64_MAX };
	}
	n_others = space_add_free(&ps->programs.spaces, program->space, regions, list->n);
	for (size_t i = 0; i < n_others && !ps->is_followed; i++) {
		regions[i].from = clock_ns(CLOCK_MONOTONIC);
		space_replace(&ps->programs.spaces, program->space, &regions[i],
			      program->looked_at);
	}
	for (size_t i = 0; i < list->n; i++)
		images_release(images_of(ps), added[i]);
}

/* As processes_look(), whatever was forgotten. No program is forgotten by it. */
static void look(struct processes *ps, uint32_t tgid)
{
	struct program *program = programs_newest(&ps->programs, tgid);
	cleanup(remote_list_fini) struct remote_list read = {};
	const struct mapping_list *list = &read.list;
	struct error e;

	if ((program && is_all_known(program)) || u64_map_get(&ps->late, tgid))
		return;
	if (program)
		program->looked_in = ps->programs.period;

	const int err = remote_list(images_files(images_of(ps)), tgid, &read, &e);

	images_note_error(images_of(ps), err);
	/* Each address of it would wait once more. */
	if (err == -ETIME || err == -EIO)
		(void)u64_map_put(&ps->late, tgid, 0, NULL);
	if (err)
		log_debug("process %u: %s", tgid, e.text);
	if (err || !list->n)
		return;
	program = programs_current(&ps->programs, tgid);
	program->looked_in = ps->programs.period;
	program->mapper = (struct mapper){ .pid = list->tid, .root = program->mapper.root };
	images_find_root(images_of(ps), &program->mapper);
	space_part(&ps->programs.spaces, &program->space);
	see_mappings(ps, program, list);
	space_note_read(program->space);
	if (!ps->is_followed || !program_has_comm(program))
		program_read_comm(program);
	program->is_whole = ps->is_followed;
	program->looked_at = clock_ns(CLOCK_MONOTONIC);
}

/* Only a hit is reason enough to read again what was forgotten for its size. */
void processes_look(struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || !space_is_forgotten(program->space))
		look(ps, tgid);
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
}

static void look_again(struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || (program_runs(program) && program->looked_in != ps->programs.period))
		look(ps, tgid);
}

/* --- keys --- */

static void forget_keys(struct processes *ps)
{
	const bool are_many = ps->n_keys > MANY_KEYS;
	size_t n = 0;

	ps->last = NULL;
	if (are_many)
		u64_map_clear(&ps->by_key);
	for (size_t i = 0; i < ps->n_keys; i++) {
		struct keyed one = ps->keys[i];

		one.program = NULL; /* may be forgotten */
		if (are_many && one.used_in + 2 <= ps->programs.period)
			continue;
		if (are_many)
			u64_map_put(&ps->by_key, one.key, (uint32_t)n, NULL);
		ps->keys[n++] = one;
	}
	ps->n_keys = n;
}

/* What was hit or asked for since the last time is about to be reported: it is kept. */
void processes_refresh(struct processes *ps)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	ps->programs.period++;
	u64_map_clear(&ps->late);
	forget_keys(ps);
	if (ps->is_followed)
		return;
	programs_note_ended(&ps->programs, now);
	programs_bound(&ps->programs, now);
}

/* Some that were kept may be gone. */
static void forget_programs(struct processes *ps)
{
	if (ps->n_dropped == ps->programs.n_dropped)
		return;
	ps->n_dropped = ps->programs.n_dropped;
	for (size_t i = 0; i < ps->n_keys; i++)
		ps->keys[i].program = NULL;
}

/* Lent until the next call. The program that was looked at for this very key is not forgotten. */
static struct keyed *keyed_of(struct processes *ps, uint64_t key)
{
	const bool is_last = ps->last && ps->last->key == key;

	if (!is_last)
		programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
	forget_programs(ps);
	if (is_last)
		return ps->last;

	bool is_new;
	const uint32_t i = *u64_map_put(&ps->by_key, key, (uint32_t)ps->n_keys, &is_new);

	if (is_new)
		array_push(ps->keys, ps->n_keys, ps->cap_keys,
			   ((struct keyed){ .key = key, .since = UINT64_MAX }));
	ps->last = &ps->keys[i];
	return ps->last;
}

/* Kept until the second processes_refresh() from now. */
static struct program *find_program(struct processes *ps, const struct keyed *k, uint64_t time)
{
	struct program *program = programs_at(&ps->programs, tgid_of_key(k->key),
					      k->first ? k->first : time, k->since);

	if (program)
		program->kept = ps->programs.period;
	return program;
}

/* What ran when the process was hit first. If nothing is known of it, it was there before all. */
static struct program *program_of(struct processes *ps, uint64_t key, uint64_t time)
{
	struct keyed *k = keyed_of(ps, key);
	const bool is_first = k->used_in != ps->programs.period;

	k->used_in = ps->programs.period;
	if (is_first && !ps->is_followed)
		look_again(ps, tgid_of_key(key));
	if (k->program)
		return k->program;
	k->program = find_program(ps, k, time);
	if (!k->program) {
		look(ps, tgid_of_key(key));
		k->program = find_program(ps, k, time);
	}
	return k->program;
}

/* Where its root is another one than was thought, so are its files: they are looked for again. */
static void settle_root(struct processes *ps, struct program *program)
{
	const int likely = program->mapper.root;
	struct space *former = program->space;

	if (program->mapper.is_root_sure || !program_runs(program))
		return;
	images_find_root(images_of(ps), &program->mapper);
	if (likely < 0 || roots_is_one(images_roots(images_of(ps)), likely, program->mapper.root))
		return;
	program->space = space_new(&ps->programs.spaces);
	program->is_whole = false;
	look(ps, program->tgid);
	program->is_whole = true;

	struct space *read = program->space, *better = space_is_empty(read) ? former : read;

	program->space = better;
	space_drop(&ps->programs.spaces, better == read ? former : read);
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
	if (!ps->is_followed)
		programs_begin_counted(&ps->programs, tgid_of_key(key), seen->since);
	look(ps, tgid_of_key(key));
	k->program = NULL;
	program = program_of(ps, key, 0);
	if (!program)
		return;
	program->is_seen = true;
	program->user = seen->user;
	settle_root(ps, program);
	space_note_hit(images_of(ps), program->space);
}

/* --- questions --- */

static bool find_place(const struct program *program, uint64_t time, uint64_t addr,
		       struct place *ret)
{
	const struct region *region = space_at(program->space, addr, time);

	if (region)
		*ret = (struct place){ region->start, addr - region->start + region->offset,
				       region->image };
	return region != NULL;
}

bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret)
{
	struct program *program = program_of(ps, key, time);
	const bool is_found = program && find_place(program, time, addr, ret);

	if (!program || is_all_known(program) || !program_runs(program) ||
	    (is_found && images_kind(images_of(ps), ret->image) != IMAGE_NO_FILE))
		return is_found;
	look_again(ps, program->tgid);
	return find_place(program, time, addr, ret);
}

uint32_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time)
{
	const struct program *program = program_of(ps, key, time);

	return program ? space_epoch(program->space, time ? time : UINT64_MAX - 1) : 0;
}

/* Its name at @time, asked of /proc if that is not known and it still runs; NULL: not known. */
static const char *comm_of(struct processes *ps, struct program *program, uint64_t time)
{
	if (!program_has_comm(program) && program_runs(program) &&
	    programs_newest(&ps->programs, program->tgid) == program)
		program_read_comm(program);
	return program_comm(program, time);
}

void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES])
{
	struct program *program;
	const char *comm;

	if (!tgid_of_key(key) && life_of_key(key)) { /* an idle task: see KEY_LIFE_SHIFT */
		(void)snprintf(ret, COMM_BYTES, "swapper/%u", (uint16_t)(life_of_key(key) - 1));
		return;
	}
	program = program_of(ps, key, time);
	comm = program ? comm_of(ps, program, time) : NULL;
	(void)snprintf(ret, COMM_BYTES, "%s", comm ? comm : keyed_of(ps, key)->comm);
}

static void describe(const struct processes *ps, const struct program *program,
		     struct program_run *ret)
{
	*ret = (struct program_run){
		.tgid = program->tgid,
		.user = program->user,
		.begin = program_began(program),
		.end = program_over_at(program),
		.root = program->mapper.root,
		.is_followed = ps->is_followed,
		.has_memory = space_has_memory(images_of(ps), program->space),
	};
}

void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret)
{
	const struct program *program = program_of(ps, key, time);

	*ret = (struct program_run){
		.tgid = tgid_of_key(key), .user = USER_UNKNOWN, .end = UINT64_MAX, .root = -1
	};
	if (program)
		describe(ps, program, ret);
}

bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || !program->is_seen)
		return false;
	describe(ps, program, ret);
	return true;
}
