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
#include "processes/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/strtab.h"
#include "bpf/abi.h"
#include "kernel/host.h"

/* The map of makers is emptied when it has this many threads. */
#define MANY_MAKERS 4096

/* At this many keys, the older half is forgotten. */
#define MOST_KEYS 65536

/* A process by its key, as rows of hits have it. */
struct keyed {
	uint64_t key;
	uint64_t first;          /* its first hit; 0: not known */
	uint64_t since;          /* see programs_at() */
	struct program *program; /* that of @first, if @version is programs.version */
	uint64_t version;
	uint64_t used_in;      /* programs.period of the last question */
	char comm[COMM_BYTES]; /* at the first hit; "": not known */
};

struct processes {
	struct programs programs;
	struct images *images;
	bool is_followed;      /* events report all changes */
	struct u64_map by_key; /* index in @keys */
	struct keyed *keys;
	size_t n_keys, cap_keys;
	uint64_t n_unnamed;  /* forgotten keys that had the only name of their process */
	struct u64_map made; /* tid -> the process that it made last */
	bool is_any_late;    /* a list did not come in time: see processes_settle() */
	size_t hit_at;       /* index in programs.heads, for processes_read_hit() */
	size_t n_unread;     /* heads from there on that it has not looked at in this period */
};

struct processes *processes_new(struct remote_files *files, size_t most_roots, bool is_followed)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));

	ps->images = images_new(files);
	roots_bound(ps->images->roots, most_roots);
	ps->programs.spaces.images = ps->images;
	ps->programs.period = 1;
	ps->is_followed = is_followed;
	return ps;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	programs_fini(&ps->programs);
	images_free(ps->images);
	u64_map_fini(&ps->by_key);
	free(ps->keys);
	u64_map_fini(&ps->made);
	free(ps);
}

struct images *processes_images(const struct processes *ps)
{
	return ps->images;
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

/* --- looks: reading mappings from /proc --- */

/*
 * Add the mappings of @list, which all exist now.
 *
 * With events, overlapped regions stay: events are newer, or will correct them soon. Without
 * events, a new mapping replaces the regions that it overlaps, and nothing is known of the time
 * between the two looks.
 *
 * Other users of the space keep what they have: the look may see a program that the space is not
 * of, because the record of its exec has not been read yet.
 */
static void add_list(struct processes *ps, struct program *program, const struct mapping_list *list)
{
	struct spaces *spaces = &ps->programs.spaces;
	cleanup_free struct region *regions = xcalloc(list->n, sizeof(*regions));
	cleanup_free struct image_entry **held = xcalloc(list->n, sizeof(struct image_entry *));
	struct space *former = program->space;
	size_t n_others;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];

		held[i] = images_add(ps->images, &program->mapper, m, &(struct file_stamp){});
		images_hold(ps->images, held[i]);
		regions[i] = (struct region){ .start = m->start,
					      .end = m->end,
					      .offset = m->offset,
					      .image = held[i],
					      .until = UINT64_MAX };
	}
	program->space = space_copy(spaces, former);
	space_drop(spaces, former);
	n_others = space_add_free(spaces, program->space, regions, list->n);
	for (size_t i = 0; i < n_others && !ps->is_followed; i++) {
		regions[i].from = clock_ns(CLOCK_MONOTONIC);
		(void)space_map(spaces, program->space, &regions[i], program->looked_at);
	}
	program->space->is_forgotten = false;
	for (size_t i = 0; i < list->n; i++)
		images_release(ps->images, held[i]);
}

static void read_mappings(struct processes *ps, uint32_t tgid)
{
	cleanup(remote_list_fini) struct remote_list read = {};
	struct program *program;
	struct error e;
	const int err = remote_list(ps->images->files, tgid, &read, &e);

	ps->is_any_late = ps->is_any_late || err == -ETIME || err == -EIO;
	images_note_error(ps->images, err);
	if (err)
		log_debug("process %u: %s", tgid, e.text);
	program = !err && read.list.n ? programs_current(&ps->programs, tgid)
				      : programs_newest(&ps->programs, tgid);
	if (!program)
		return;
	program->looked_in = ps->programs.period;
	/* A kernel thread, or a process that ends, has no mappings. */
	program->is_whole =
		program->is_whole || (ps->is_followed && (err == -ESRCH || (!err && !read.list.n)));
	if (err || !read.list.n)
		return;
	program->mapper.pid = read.list.tid;
	images_find_root(ps->images, &program->mapper);
	add_list(ps, program, &read.list);
	if (program->is_seen)
		space_note_hit(ps->images, program->space);
	if (!ps->is_followed || !program_has_comm(program))
		program_read_comm(program);
	program->is_whole = ps->is_followed;
	program->looked_at = clock_ns(CLOCK_MONOTONIC);
}

/* Read the mappings of @tgid unless they are complete. */
static void look_unless_known(struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || !program_is_all_known(program))
		read_mappings(ps, tgid);
}

/* Mappings that were forgotten for their size are read again after a hit, or for a report. */
void processes_look(struct processes *ps, uint32_t tgid)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (program && (program->space->is_forgotten || program->looked_in == ps->programs.period))
		return;
	look_unless_known(ps, tgid);
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
}

bool processes_read_hit(struct processes *ps)
{
	const struct programs *all = &ps->programs;

	for (; ps->n_unread && all->n_heads; ps->n_unread--) {
		const struct program *program = all->heads[ps->hit_at++ % all->n_heads];

		if (program->is_seen && program_runs(program) && !program_is_all_known(program)) {
			ps->n_unread--;
			read_mappings(ps, program->tgid);
			return true;
		}
	}
	return false;
}

void processes_settle(struct processes *ps, uint64_t until)
{
	do {
		ps->is_any_late = false;
		ps->n_unread = ps->programs.n_heads;
		while (clock_ns(CLOCK_MONOTONIC) < until && processes_read_hit(ps))
			;
	} while (ps->is_any_late && clock_ns(CLOCK_MONOTONIC) < until);
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
}

/* The report is about the period that ends here, so programs used in it are kept. */
void processes_refresh(struct processes *ps)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	ps->programs.period++;
	images_refresh(ps->images);
	for (size_t i = 0; i < ps->programs.n_heads && !ps->is_followed; i++) {
		struct program *program = ps->programs.heads[i];

		if (program_runs(program) && !host_pid_exists(program->tgid))
			program->exited = now;
	}
	ps->n_unread = ps->programs.n_heads;
	programs_fit(&ps->programs, now);
}

/* --- events --- */

/* The child has not run yet: its space is a copy of the maker's. Share the maker's instead. */
static void on_share_event(struct processes *ps, const struct process_event *event)
{
	const uint32_t *made = u64_map_get(&ps->made, event->tid);
	struct program *child = made ? programs_newest(&ps->programs, *made) : NULL;

	if (!child || child->is_exec)
		return;
	space_drop(&ps->programs.spaces, child->space);
	child->space = programs_current(&ps->programs, event->pid)->space;
	child->space->n_users++;
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
		images_find_root(ps->images, &parent->mapper);
	child->mapper.root = parent->mapper.root;
	child->is_whole = parent->is_whole;
	if (parent->walked && !child->walked)
		child->walked = event->time;
	if (event->parent_tid == event->parent_pid) { /* else its name is another thread's */
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->is_named = parent->is_named;
	}
	/* For on_share_event(): a SHARE comes right after its FORK, or never. */
	if (ps->made.n >= MANY_MAKERS)
		u64_map_clear(&ps->made);
	*u64_map_put(&ps->made, event->parent_tid, 0, NULL) = event->pid;
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

static void on_map_event(struct processes *ps, const struct process_event *event,
			 struct process_news *news)
{
	struct program *program = programs_current(&ps->programs, event->pid);
	const uint32_t newest = ps->images->n_made;
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(ps->images, &program->mapper, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	news->is_replaced = space_map(&ps->programs.spaces, program->space, &region, event->time);
	news->is_new_file = region.image->number > newest && region.image->kind == IMAGE_FILE;
	news->has_mapped = program->walked;
	if (program->is_seen)
		images_note_hit(ps->images, region.image);
}

/* Keys may have wrong programs: a hit after the loss may have been reported before the loss was. */
static void on_lost_event(struct processes *ps, const struct process_event *event)
{
	u64_map_clear(&ps->made);
	programs_lose(&ps->programs, event->since);
}

/* A process has the name of its first thread. */
static void on_comm_event(struct processes *ps, const struct process_event *event)
{
	struct program *program;

	if (event->pid != event->tid)
		return;
	program = programs_current(&ps->programs, event->pid);
	program_set_comm(program, event->comm);
	program->is_named = true;
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
	programs_fit(&ps->programs, event->time);
	return news;
}

uint32_t processes_sharer(const struct processes *ps, uint32_t tgid, size_t *at)
{
	const struct program *program = programs_newest(&ps->programs, tgid);

	if (!program || program->space->n_users == 1)
		return 0;
	while (*at < ps->programs.n_heads) {
		const struct program *other = ps->programs.heads[(*at)++];

		if (other != program && other->space == program->space)
			return other->tgid;
	}
	return 0;
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

/* --- keys --- */

/*
 * Rows still find their programs, by their own times. But if a process has no program, the key had
 * the only name, which matters to rows of this period or the last one.
 */
static void forget_oldest_keys(struct processes *ps)
{
	const size_t n = ps->n_keys / 2;

	for (size_t i = 0; i < n; i++)
		ps->n_unnamed += ps->keys[i].comm[0] &&
				 ps->keys[i].used_in + 1 >= ps->programs.period &&
				 !programs_newest(&ps->programs, tgid_of_key(ps->keys[i].key));
	ps->n_keys -= n;
	memmove(ps->keys, ps->keys + n, ps->n_keys * sizeof(*ps->keys));
	u64_map_clear(&ps->by_key);
	for (size_t i = 0; i < ps->n_keys; i++)
		(void)u64_map_put(&ps->by_key, ps->keys[i].key, (uint32_t)i, NULL);
}

/* The entry of @key, new if there was none. Lent until the next call. */
static struct keyed *keyed_of(struct processes *ps, uint64_t key)
{
	const uint32_t *at = u64_map_get(&ps->by_key, key);
	struct keyed *k;

	if (!at && ps->n_keys >= MOST_KEYS)
		forget_oldest_keys(ps);
	if (!at) {
		(void)u64_map_put(&ps->by_key, key, (uint32_t)ps->n_keys, NULL);
		array_push(ps->keys, ps->n_keys, ps->cap_keys,
			   ((struct keyed){ .key = key, .since = UINT64_MAX }));
	}
	k = at ? &ps->keys[*at] : &ps->keys[ps->n_keys - 1];
	k->used_in = ps->programs.period;
	return k;
}

/*
 * The program at the first hit of @key; if that hit is not known, at @time. NULL: not known. Keeps
 * the program, and its files, until the second processes_refresh() from now.
 */
static struct program *program_of(struct processes *ps, uint64_t key, uint64_t time)
{
	struct keyed *k = keyed_of(ps, key);

	if (!k->program || !k->first || k->version != ps->programs.version) {
		k->program = programs_at(&ps->programs, tgid_of_key(key),
					 k->first ? k->first : time, k->since);
		k->version = ps->programs.version;
	}
	if (k->program && k->program->kept != ps->programs.period) {
		k->program->kept = ps->programs.period;
		if (k->program->is_seen)
			space_note_hit(ps->images, k->program->space);
	}
	return k->program;
}

/* Without events: a program begins at @since, an exec that BPF has counted, unless one is as new.
 */
static void begin_counted(struct programs *all, uint32_t tgid, uint64_t since)
{
	const struct program *newest = programs_newest(all, tgid);

	if (!newest || newest->begin < since)
		programs_begin(all, tgid, since, space_new(&all->spaces))->is_exec = true;
}

void processes_seen(struct processes *ps, uint64_t key, const struct sighting *seen)
{
	struct keyed *k = keyed_of(ps, key);
	struct program *program;

	if (seen->time && (!k->first || seen->time < k->first)) {
		k->first = seen->time;
		k->since = seen->since;
		k->program = NULL;
	}
	if (seen->comm && seen->comm[0])
		(void)snprintf(k->comm, sizeof(k->comm), "%s", seen->comm);
	if (!ps->is_followed && seen->since && seen->since != UINT64_MAX)
		begin_counted(&ps->programs, tgid_of_key(key), seen->since);
	look_unless_known(ps, tgid_of_key(key));
	program = program_of(ps, key, 0);
	if (!program)
		return;
	program->user = seen->user;
	if (program_runs(program)) {
		images_find_root(ps->images, &program->mapper);
		if (!program_has_comm(program))
			program_read_comm(program);
	}
	if (!program->is_seen)
		space_note_hit(ps->images, program->space);
	program->is_seen = true; /* from here on, on_map_event() notes hits of its images */
	programs_fit(&ps->programs, clock_ns(CLOCK_MONOTONIC));
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
	cleanup_free struct region *regions = NULL;
	size_t n;

	if (!program)
		return false;
	n = space_regions(program->space, time, &regions);
	*ret = (struct remote_list){
		.list = { .strings = strtab_new(),
			  .mappings = xcalloc(n + 1, sizeof(*ret->list.mappings)),
			  .n = n,
			  .capacity = n + 1 },
		.states = xcalloc(n + 1, sizeof(*ret->states)),
	};
	for (size_t i = 0; i < n; i++) {
		const struct image_entry *image = regions[i].image;
		const bool is_file = image->kind == IMAGE_FILE;

		ret->states[i] = (struct file_state){ image->dev, image->inode, image->file.fact };
		ret->list.mappings[i] =
			(struct mapping){ .start = regions[i].start,
					  .end = regions[i].end,
					  .offset = regions[i].offset,
					  .dev = is_file ? image->dev : 0,
					  .inode = is_file ? image->inode : 0,
					  .path = strtab_add(ret->list.strings, image->path) };
	}
	return true;
}

uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time)
{
	const struct program *program = program_of(ps, key, time);

	return program ? space_epoch(program->space, time ? time : UINT64_MAX - 1) : 0;
}

void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES])
{
	const struct program *program;

	if (!tgid_of_key(key) && life_of_key(key)) { /* an idle task: see KEY_LIFE_SHIFT */
		(void)snprintf(ret, COMM_BYTES, "swapper/%u", (uint16_t)(life_of_key(key) - 1));
		return;
	}
	program = program_of(ps, key, time);
	(void)snprintf(ret, COMM_BYTES, "%s",
		       program && program_has_comm(program) ? program->comm
							    : keyed_of(ps, key)->comm);
}

static void describe_run(const struct processes *ps, const struct program *program,
			 struct program_run *ret)
{
	*ret = (struct program_run){
		.tgid = program->tgid,
		.user = program->user,
		.begin = program->began,
		.end = program_over_at(program),
		.root = program->mapper.root,
		.is_followed = ps->is_followed,
		.has_memory = program->space->content->has_memory,
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
