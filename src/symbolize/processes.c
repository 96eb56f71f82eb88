#include "symbolize/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"
#include "host/mappings.h"

/* Processes that have ended are forgotten only where there are many. */
#define MANY_PROCESSES 1024

struct processes {
	struct images *images;
	struct strtab *strings;
	struct process **list;
	size_t n, capacity;
	struct u64_map by_tgid;
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

static void process_free(struct process *p)
{
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
		process_free(ps->list[i]);
	free(ps->list);
	u64_map_fini(&ps->by_tgid);
	free(ps);
}

/* What was announced or used since the last refresh is about to be reported: it is kept. */
void processes_refresh(struct processes *ps)
{
	size_t n = 0;

	ps->period++;
	ps->last = NULL;
	if (ps->n <= MANY_PROCESSES)
		return;
	u64_map_clear(&ps->by_tgid);
	for (size_t i = 0; i < ps->n; i++) {
		struct process *p = ps->list[i];

		if (p->period_used + 2 <= ps->period && !host_pid_exists(p->tgid)) {
			process_free(p);
			continue;
		}
		u64_map_put(&ps->by_tgid, p->tgid, n, NULL);
		ps->list[n++] = p;
	}
	ps->n = n;
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
			array_push(fresh, n, capacity, old);
		}
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
	if (err)
		log_debug("process %u: %s", p->tgid, e.text);
	if (err || list.n == 0)
		return; /* ended, or a zombie: what was known is all there will be */
	for (size_t i = 0; i < list.n; i++) {
		const struct mapping *m = &list.mappings[i];
		struct region region = { .start = m->start,
					 .end = m->end,
					 .offset = m->offset,
					 .image = images_add(ps->images, p->tgid, m) };

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

struct process *processes_get(struct processes *ps, uint32_t tgid)
{
	if (ps->last && ps->last->tgid == tgid)
		return ps->last;

	bool is_new;
	uint32_t number = *u64_map_put(&ps->by_tgid, tgid, ps->n, &is_new);

	if (is_new) {
		struct process *made = xcalloc(1, sizeof(*made));

		made->tgid = tgid;
		made->period_used = ps->period;
		array_push(ps->list, ps->n, ps->capacity, made);
	}

	struct process *p = ps->list[number];

	if (p->period_used != ps->period)
		check_program(ps, p);
	ps->last = p;
	return p;
}

void processes_announce(struct processes *ps, uint32_t tgid, const char *comm)
{
	struct process *p = processes_get(ps, tgid);

	(void)exe_of(tgid, &p->exe_dev, &p->exe_inode);
	ask_comm(ps, p, comm);
	read_maps(ps, p);
}

const char *processes_comm(struct processes *ps, uint32_t tgid)
{
	struct process *p = processes_get(ps, tgid);

	if (!p->comm)
		ask_comm(ps, p, NULL);
	return p->comm;
}

static const struct region *find_region(const struct process *p, uint64_t addr)
{
	size_t at = first_behind(p->regions, p->n_regions, addr);

	return at < p->n_regions && p->regions[at].start <= addr ? &p->regions[at] : NULL;
}

const struct region *processes_region_at(struct processes *ps, struct process *p, uint64_t addr)
{
	if (!p->has_maps) {
		(void)exe_of(p->tgid, &p->exe_dev, &p->exe_inode);
		read_maps(ps, p);
		p->period_reread = ps->period;
	}

	const struct region *region = find_region(p, addr);

	if (region && images_has_places(ps->images, region->image))
		return region;
	if (p->period_reread == ps->period)
		return region;
	read_maps(ps, p);
	p->period_reread = ps->period;
	return find_region(p, addr);
}
