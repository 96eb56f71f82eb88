#include "symbolize/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "kernel/host.h"
#include "reader/mappings.h"

/* Processes that have ended are forgotten only where there are many, others where these are. */
#define MANY_PROCESSES 128
#define MANY_LIVING 1024

struct processes {
	struct images *images;
	struct strtab *strings;
	struct process **list;
	size_t n, capacity;
	struct u64_map by_id;
	struct u64_map newest; /* of each tgid: the life that was seen last */
	struct history *history;
	struct process *last; /* stacks are looked up frame by frame: mostly the same again */
	uint64_t period;
};

struct processes *processes_new(struct images *images, struct strtab *strings)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));

	ps->images = images;
	ps->strings = strings;
	ps->period = 1;
	return ps;
}

void processes_follow(struct processes *ps, struct history *history)
{
	ps->history = history;
}

static void process_free(struct processes *ps, struct process *p)
{
	for (size_t i = 0; i < p->n_regions; i++)
		images_release(ps->images, p->regions[i].image);
	u64_map_fini(&p->seen[0]);
	u64_map_fini(&p->seen[1]);
	free(p->regions);
	free(p);
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < ps->n; i++)
		process_free(ps, ps->list[i]);
	free(ps->list);
	u64_map_fini(&ps->by_id);
	u64_map_fini(&ps->newest);
	free(ps);
}

/* Of those that are followed all that may be asked for is kept in the history. */
static bool is_needed(const struct processes *ps, const struct process *p)
{
	return p->period_used + 2 > ps->period || (!ps->history && host_pid_exists(p->tgid));
}

static bool is_forgotten(const struct processes *ps, const struct process *p)
{
	return !is_needed(ps, p) && (ps->n > MANY_LIVING || !host_pid_exists(p->tgid));
}

/* Numbers of processes that have gone. */
static void forget_newest(struct processes *ps)
{
	const struct u64_map all = ps->newest;

	if (all.n < 2 * ps->n + MANY_LIVING)
		return;
	ps->newest = (struct u64_map){};
	for (size_t i = 0; i < all.n_slots; i++)
		if (all.slots[i].used && host_pid_exists((uint32_t)all.slots[i].key))
			(void)u64_map_put(&ps->newest, all.slots[i].key, all.slots[i].value, NULL);
	free(all.slots);
}

void processes_forget_names(struct processes *ps)
{
	for (size_t i = 0; i < ps->n; i++) {
		u64_map_fini(&ps->list[i]->seen[0]);
		u64_map_fini(&ps->list[i]->seen[1]);
		ps->list[i]->seen[0] = ps->list[i]->seen[1] = (struct u64_map){};
	}
}

void processes_forget_lives(struct processes *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		ps->list[i]->life = NULL;
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

		p->life = NULL; /* may be forgotten */
		if (are_many && is_forgotten(ps, p)) {
			process_free(ps, p);
			continue;
		}
		if (are_many)
			u64_map_put(&ps->by_id, p->id, (uint32_t)n, NULL);
		ps->list[n++] = p;
	}
	ps->n = n;
	forget_newest(ps);
}

static void ask_comm(struct processes *ps, struct process *p, const char *otherwise)
{
	char comm[32] = "";

	host_pid_comm(p->tgid, comm, sizeof(comm));
	if (comm[0])
		p->comm = strtab_add(ps->strings, comm);
	else if (otherwise && otherwise[0])
		p->comm = strtab_add(ps->strings, otherwise);
	else if (!p->comm)
		p->comm = "";
}

/* Which program it runs; false when it has gone, or runs none (a kernel thread). */
static bool exe_of(uint32_t tgid, uint64_t *ret_dev, uint64_t *ret_inode)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	if (stat(path, &st) < 0)
		return false;
	*ret_dev = st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}

static int compare_regions(const void *left, const void *right)
{
	const struct region *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* The first of @regions that ends behind @addr, or @n. */
static size_t first_behind(const struct region *regions, size_t n, uint64_t addr)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (regions[middle].end > addr)
			n = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool is_same_place(const struct region *a, const struct region *b)
{
	return a->image == b->image && a->offset - a->start == b->offset - b->start;
}

/*
 * Put @fresh (sorted) in the place of what was known. A file that was mapped
 * before and has made room for nothing else stays known: stacks that were counted
 * before exec or dlclose are reported after it. It stays until the maps are read
 * in a later period. The result says whether an address has another meaning now.
 */
static bool replace_regions(struct processes *ps, struct process *p, struct region *fresh, size_t n,
			    size_t capacity)
{
	size_t n_fresh = n;
	bool is_changed = false;

	for (size_t i = 0; i < p->n_regions; i++) {
		struct region old = p->regions[i];
		size_t at = first_behind(fresh, n_fresh, old.start);

		if (at < n_fresh && fresh[at].start < old.end) {
			is_changed |= !is_same_place(&old, &fresh[at]);
		} else if (images_has_places(ps->images, old.image) &&
			   (!old.is_former || p->period_read == ps->period)) {
			old.is_former = true;
			images_hold(ps->images, old.image);
			array_push(fresh, n, capacity, old);
		}
		images_release(ps->images, old.image);
	}
	if (n > n_fresh)
		qsort(fresh, n, sizeof(*fresh), compare_regions);
	free(p->regions);
	p->regions = fresh;
	p->n_regions = n;
	p->cap_regions = capacity;
	return is_changed;
}

static void read_maps(struct processes *ps, struct process *p)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};
	struct region *regions = NULL;
	size_t n = 0, capacity = 0;
	struct error e;
	int err = mapping_list_read(p->tgid, &list, &e);

	p->has_maps = true;
	p->period_read = err || list.n == 0 ? ps->period : p->period_read;
	images_note_error(ps->images, err);
	if (err)
		log_debug("process %u: %s", p->tgid, e.text);
	if (err || list.n == 0)
		return; /* ended, or a zombie: what was known is all there will be */

	const int root = images_root(ps->images, list.tid);

	for (size_t i = 0; i < list.n; i++) {
		const struct mapping *m = &list.mappings[i];
		struct region region = { .start = m->start,
					 .end = m->end,
					 .offset = m->offset,
					 .image = images_add(ps->images, list.tid, root, m,
							     &(struct file_stamp){}) };

		images_hold(ps->images, region.image);
		array_push(regions, n, capacity, region);
	}
	if (replace_regions(ps, p, regions, n, capacity)) {
		u64_map_clear(&p->seen[0]);
		u64_map_clear(&p->seen[1]);
	}
	p->period_read = ps->period;
}

/* The first use in a period: does it still run the program whose maps were read? */
static void check_program(struct processes *ps, struct process *p)
{
	uint64_t dev, inode;

	p->period_used = ps->period;
	if (!p->has_maps || !exe_of(p->tgid, &dev, &inode))
		return;
	if (dev == p->exe_dev && inode == p->exe_inode)
		return;
	p->exe_dev = dev;
	p->exe_inode = inode;
	ask_comm(ps, p, NULL);
	read_maps(ps, p);
}

struct process *processes_get(struct processes *ps, uint64_t id)
{
	if (ps->last && ps->last->id == id)
		return ps->last;

	bool is_new;
	uint32_t number = *u64_map_put(&ps->by_id, id, ps->n, &is_new);

	if (is_new) {
		struct process *made = xcalloc(1, sizeof(*made));

		made->id = id;
		made->tgid = tgid_of_key(id);
		made->since = UINT64_MAX;
		made->user = USER_UNKNOWN;
		made->last = UINT64_MAX;
		made->period_used = ps->period;
		array_push(ps->list, ps->n, ps->capacity, made);
	}

	struct process *p = ps->list[number];

	if (p->period_used != ps->period)
		check_program(ps, p);
	ps->last = p;
	return p;
}

/* The life before, of the same number, was over then at the latest. */
static void end_life_before(struct processes *ps, const struct process *p, uint64_t time)
{
	uint32_t *newest = u64_map_put(&ps->newest, p->tgid, life_of_key(p->id), NULL);
	const uint64_t before = process_key(p->tgid, *newest);

	if (before == p->id)
		return;
	*newest = life_of_key(p->id);
	processes_get(ps, before)->last = time;
}

/* The life that was being led when the process was seen. Without any, it was there before all. */
static const struct life *life_of(struct processes *ps, struct process *p, uint64_t time)
{
	if (!ps->history || p->life)
		return p->life;
	time = p->first ? p->first : time;
	p->life = history_keep(ps->history, p->tgid, time, p->since);
	if (!p->life) {
		history_look(ps->history, p->tgid);
		p->life = history_keep(ps->history, p->tgid, time, p->since);
	}
	return p->life;
}

/* Does /proc still tell of this life? */
static bool is_current(const struct processes *ps, const struct process *p)
{
	if (p->last != UINT64_MAX)
		return false;
	if (!ps->history)
		return true;
	return p->life && p->life->end == UINT64_MAX && p->life->exited == UINT64_MAX;
}

void processes_announce(struct processes *ps, uint64_t id, const struct sighting *seen)
{
	struct process *p = processes_get(ps, id);

	p->period_used = ps->period;
	p->user = seen->user;
	if (seen->time && (!p->first || seen->time < p->first)) {
		p->first = seen->time;
		p->since = seen->since;
		end_life_before(ps, p, seen->time);
	}
	if (seen->comm && seen->comm[0])
		p->comm = strtab_add(ps->strings, seen->comm);
	if (ps->history) {
		history_look(ps->history, p->tgid);
		(void)life_of(ps, p, 0);
		return;
	}
	(void)exe_of(p->tgid, &p->exe_dev, &p->exe_inode);
	ask_comm(ps, p, seen->comm);
	read_maps(ps, p);
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
	const struct life *life = life_of(ps, p, time);
	const char *comm = life ? life_comm(life, time) : NULL;

	if (comm)
		return strtab_add(ps->strings, comm);
	if (is_current(ps, p) && (!p->comm || (ps->history && !(life && life->is_named))))
		ask_comm(ps, p, p->comm);
	return p->comm ? p->comm : "";
}

uint32_t processes_epoch(struct processes *ps, struct process *p, uint64_t time)
{
	const struct life *life = life_of(ps, p, time);

	return life ? memory_epoch(life->memory, time ? time : UINT64_MAX - 1) : 0;
}

void processes_jit(struct processes *ps, struct process *p, uint64_t time, struct jit_process *ret)
{
	const struct life *life = life_of(ps, p, time);

	*ret = (struct jit_process){ .tgid = p->tgid,
				     .user = p->user,
				     .end = UINT64_MAX,
				     .root = -1,
				     .is_followed = ps->history != NULL };
	if (!life) {
		ret->life = life_of_key(p->id);
		return;
	}
	ret->begin = life_began(life);
	ret->end = life->exited < life->end ? life->exited : life->end;
	ret->root = life->root;
}

bool processes_has_made_code(const struct processes *ps, const struct process *p)
{
	if (p->life)
		return memory_has_made_code(ps->images, p->life->memory);
	for (size_t i = 0; i < p->n_regions; i++)
		if (images_may_be_made(ps->images, p->regions[i].image))
			return true;
	return false;
}

struct process *processes_announced(struct processes *ps, uint32_t tgid)
{
	const uint32_t *life = u64_map_get(&ps->newest, tgid);

	return life ? processes_get(ps, process_key(tgid, *life)) : NULL;
}

static const struct region *find_region(const struct process *p, uint64_t addr)
{
	size_t at = first_behind(p->regions, p->n_regions, addr);

	return at < p->n_regions && p->regions[at].start <= addr ? &p->regions[at] : NULL;
}

/* By what it had mapped. */
static const struct region *find_past_region(struct process *p, uint64_t addr, uint64_t time)
{
	const struct past_region *past =
		p->life ? memory_region_at(p->life->memory, addr, time) : NULL;

	if (!past)
		return NULL;
	p->found = (struct region){
		.start = past->start, .end = past->end, .offset = past->offset, .image = past->image
	};
	return &p->found;
}

/* By what it has mapped now, which is read where it was not in this period. */
static const struct region *find_present_region(struct processes *ps, struct process *p,
						uint64_t addr)
{
	const struct region *region;

	if (!p->has_maps) {
		(void)exe_of(p->tgid, &p->exe_dev, &p->exe_inode);
		read_maps(ps, p);
		p->period_reread = ps->period;
	}
	region = find_region(p, addr);
	if (region && images_has_places(ps->images, region->image))
		return region;
	if (p->period_reread == ps->period)
		return region;
	read_maps(ps, p);
	p->period_reread = ps->period;
	return find_region(p, addr);
}

const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr,
					 uint64_t time)
{
	const struct region *past = find_past_region(p, addr, time), *present;

	if (past && images_has_places(ps->images, past->image))
		return past;
	if (p->life && p->life->is_whole)
		return past;
	present = is_current(ps, p) ? find_present_region(ps, p, addr) : find_region(p, addr);
	return present ? present : past;
}
