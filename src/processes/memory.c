#include "processes/memory.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

struct memory {
	uint32_t n_users;
	struct space *space;
};

/* Shared by the memories of a process and its children until one of them maps more. */
struct space {
	uint32_t n_users;
	uint32_t n_replaced; /* times that an address got another meaning */
	uint32_t n_over;     /* regions of the past that were forgotten, */
	uint64_t over_at;    /* and were over then */
	struct past_region *regions;
	size_t n, capacity;
};

static struct space *space_new(struct memories *all)
{
	struct space *s = xcalloc(1, sizeof(*s));

	s->n_users = 1;
	all->bytes += sizeof(*s);
	return s;
}

static struct space *space_share(struct space *s)
{
	s->n_users++;
	return s;
}

static void space_drop(struct memories *all, struct space *s)
{
	if (--s->n_users > 0)
		return;
	for (size_t i = 0; i < s->n; i++)
		images_release(all->images, s->regions[i].image);
	all->bytes -= sizeof(*s) + s->capacity * sizeof(*s->regions);
	free(s->regions);
	free(s);
}

/* Of what is over, what was mapped last is kept: a quarter of all. */
static void forget_past(struct memories *all, struct space *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct past_region *r = &s->regions[i];

		if (r->until == UINT64_MAX || i >= s->n - s->n / 4) {
			s->regions[n++] = *r;
			continue;
		}
		images_release(all->images, r->image);
		if (r->until > s->over_at)
			s->over_at = r->until;
	}
	s->n_over += (uint32_t)(s->n - n);
	all->n_forgotten += s->n - n;
	s->n = n;
}

static void space_add(struct memories *all, struct space *s, const struct past_region *region)
{
	size_t before = s->capacity;

	images_hold(all->images, region->image);
	array_push(s->regions, s->n, s->capacity, *region);
	all->bytes += (s->capacity - before) * sizeof(*s->regions);
}

static struct memory *memory_of(struct memories *all, struct space *space)
{
	struct memory *m = xcalloc(1, sizeof(*m));

	m->n_users = 1;
	m->space = space;
	all->bytes += sizeof(*m);
	return m;
}

struct memory *memory_share(struct memory *m)
{
	m->n_users++;
	return m;
}

void memory_drop(struct memories *all, struct memory *m)
{
	if (--m->n_users > 0)
		return;
	all->bytes -= sizeof(*m);
	space_drop(all, m->space);
	free(m);
}

struct memory *memory_new(struct memories *all)
{
	return memory_of(all, space_new(all));
}

struct memory *memory_copy(struct memories *all, struct memory *m)
{
	return memory_of(all, space_share(m->space));
}

void memory_part(struct memories *all, struct memory **m)
{
	struct memory *shared = *m;

	if (shared->n_users == 1)
		return;
	*m = memory_copy(all, shared);
	memory_drop(all, shared);
}

/* For writing: not shared with other memories any more. */
static struct space *own_space(struct memories *all, struct memory *m)
{
	struct space *shared = m->space, *own;

	if (shared->n_users == 1)
		return shared;
	own = m->space = space_new(all);
	own->n_replaced = shared->n_replaced;
	own->n_over = shared->n_over;
	own->over_at = shared->over_at;
	for (size_t i = 0; i < shared->n; i++)
		space_add(all, own, &shared->regions[i]);
	space_drop(all, shared);
	return own;
}

static void space_add_bounded(struct memories *all, struct space *s,
			      const struct past_region *region)
{
	if (s->n < all->most_regions)
		space_add(all, s, region);
	else
		all->n_forgotten++;
}

static bool is_same_place(const struct past_region *a, const struct past_region *b)
{
	return a->image == b->image && a->offset - a->start == b->offset - b->start;
}

static bool overlap(const struct past_region *a, const struct past_region *b)
{
	return a->start < b->end && b->start < a->end;
}

/* What @region leaves of @old, on both sides; where there is no room for that, nothing is known. */
static void add_rests(struct memories *all, struct space *s, struct past_region old,
		      const struct past_region *region)
{
	struct past_region rest = old;

	rest.from = region->from;
	rest.until = UINT64_MAX;
	if (old.start < region->start) {
		rest.end = region->start;
		space_add_bounded(all, s, &rest);
	}
	if (old.end > region->end) {
		rest.start = region->end;
		rest.end = old.end;
		rest.offset = old.offset + (region->end - old.start);
		space_add_bounded(all, s, &rest);
	}
}

/* End at @until what @region takes the place of. True: that was something else. */
static bool end_overlapped(struct memories *all, struct space *s, const struct past_region *region,
			   uint64_t until)
{
	const size_t n = s->n;
	bool is_replaced = false;

	for (size_t i = 0; i < n; i++) {
		struct past_region old = s->regions[i];

		if (old.until != UINT64_MAX || !overlap(&old, region))
			continue;
		s->regions[i].until = until;
		is_replaced = is_replaced || !is_same_place(&old, region);
		add_rests(all, s, old, region);
	}
	return is_replaced;
}

/*
 * Nothing new? A JIT compiler changes its pages' protection again and again, each time with an
 * event: pages without a file are one region as far as they touch each other.
 */
static bool is_known(const struct images *images, struct space *s, const struct past_region *region)
{
	for (size_t i = 0; i < s->n; i++) {
		struct past_region *old = &s->regions[i];

		if (old->until != UINT64_MAX || old->image != region->image)
			continue;
		if (images_has_places(images, region->image)) {
			if (is_same_place(old, region) && old->start <= region->start &&
			    old->end >= region->end)
				return true;
		} else if (region->start <= old->end && old->start <= region->end) {
			old->start = region->start < old->start ? region->start : old->start;
			old->end = region->end > old->end ? region->end : old->end;
			return true;
		}
	}
	return false;
}

static bool map_in_place(struct memories *all, struct memory *m, const struct past_region *region,
			 uint64_t until)
{
	struct space *s = own_space(all, m);
	bool is_replaced;

	if (is_known(all->images, s, region))
		return false;
	if (s->n >= all->most_regions)
		forget_past(all, s);
	is_replaced = end_overlapped(all, s, region, until);
	space_add_bounded(all, s, region);
	s->n_replaced += is_replaced;
	return is_replaced;
}

bool memory_map(struct memories *all, struct memory *m, const struct past_region *region)
{
	return map_in_place(all, m, region, region->from);
}

void memory_replace(struct memories *all, struct memory *m, const struct past_region *region,
		    uint64_t until)
{
	(void)map_in_place(all, m, region, until);
}

bool memory_add_if_free(struct memories *all, struct memory *m, const struct past_region *region)
{
	struct space *s = own_space(all, m);

	for (size_t i = 0; i < s->n; i++)
		if (overlap(&s->regions[i], region))
			return false;
	space_add(all, s, region);
	return true;
}

void memory_forget_first(struct memories *all, struct memory *m)
{
	struct space *s = own_space(all, m);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->regions[i].from)
			s->regions[n++] = s->regions[i];
		else
			images_release(all->images, s->regions[i].image);
	}
	s->n = n;
}

bool memory_is_empty(const struct memory *m)
{
	return m->space->n == 0;
}

bool memory_is_shared(const struct memory *m)
{
	return m->n_users > 1;
}

static bool covers(const struct past_region *r, uint64_t addr, uint64_t time)
{
	return addr >= r->start && addr < r->end && r->from <= time && time < r->until;
}

const struct past_region *memory_region_at(const struct memory *m, uint64_t addr, uint64_t time)
{
	const struct space *s = m->space;

	/* Where nothing was replaced, what is there now was there from the beginning. */
	if (!time || !s->n_replaced)
		time = UINT64_MAX - 1;
	for (size_t i = s->n; i-- > 0;)
		if (covers(&s->regions[i], addr, time))
			return &s->regions[i];
	return NULL;
}

uint32_t memory_epoch(const struct memory *m, uint64_t time)
{
	const struct space *s = m->space;
	uint32_t n = s->n_over;

	if (time < s->over_at)
		return 0;
	for (size_t i = 0; i < s->n && s->n_replaced; i++)
		n += s->regions[i].until <= time;
	return n;
}

bool memory_has_made_code(const struct images *images, const struct memory *m)
{
	for (size_t i = 0; i < m->space->n; i++)
		if (images_may_be_made(images, m->space->regions[i].image))
			return true;
	return false;
}
