// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "processes/past.h"

/* Shared by a space and its copies until one of them changes. */
struct content {
	uint32_t n_users;
	uint32_t number;     /* changes when an address gets another meaning */
	uint32_t n_replaced; /* how often an address got another meaning */
	uint32_t n_over;     /* past regions that were forgotten */
	uint64_t over_at;    /* the latest end of those */
	uint64_t since;      /* nothing is known of earlier times */
	bool has_gaps;       /* where a past region was, there may be none now */
	bool has_memory;     /* images_is_memory(), at any time */
	struct regions now;  /* by rising address, without overlaps */
	struct past past;
};

struct space {
	uint32_t n_users;
	bool is_forgotten; /* space_is_forgotten() */
	struct content *content;
};

/* --- content --- */

static struct content *content_new(struct spaces *all)
{
	struct content *c = xcalloc(1, sizeof(*c));

	c->n_users = 1;
	c->number = ++all->n_numbers;
	all->bytes += sizeof(*c);
	return c;
}

static struct content *content_share(struct content *c)
{
	c->n_users++;
	return c;
}

static void content_drop(struct spaces *all, struct content *c)
{
	if (--c->n_users > 0)
		return;
	regions_fini(all, &c->now);
	past_fini(all, &c->past);
	all->bytes -= sizeof(*c);
	free(c);
}

/* Keep the newest quarter of the past regions. */
static void forget_past(struct spaces *all, struct content *c)
{
	const struct regions *past = &c->past.regions;
	const size_t n = past->n - past->n / 4;

	if (n && past->list[n - 1].until > c->over_at)
		c->over_at = past->list[n - 1].until;
	past_forget(all, &c->past, n);
	c->n_over += (uint32_t)n;
	all->n_forgotten += n;
}

/* --- spaces --- */

static struct space *space_of(struct spaces *all, struct content *content)
{
	struct space *s = xcalloc(1, sizeof(*s));

	s->n_users = 1;
	s->content = content;
	all->bytes += sizeof(*s);
	return s;
}

struct space *space_share(struct space *s)
{
	s->n_users++;
	return s;
}

void space_drop(struct spaces *all, struct space *s)
{
	if (--s->n_users > 0)
		return;
	all->bytes -= sizeof(*s);
	content_drop(all, s->content);
	free(s);
}

struct space *space_new(struct spaces *all)
{
	return space_of(all, content_new(all));
}

struct space *space_copy(struct spaces *all, struct space *s)
{
	struct space *copy = space_of(all, content_share(s->content));

	copy->is_forgotten = s->is_forgotten;
	return copy;
}

void space_part(struct spaces *all, struct space **s)
{
	struct space *shared = *s;

	if (shared->n_users == 1)
		return;
	*s = space_copy(all, shared);
	space_drop(all, shared);
}

/* The content of @s, for writing: a copy if other spaces share it. */
static struct content *own_content(struct spaces *all, struct space *s)
{
	struct content *shared = s->content, *own;

	if (shared->n_users == 1)
		return shared;
	own = s->content = content_new(all);
	own->n_replaced = shared->n_replaced;
	own->n_over = shared->n_over;
	own->over_at = shared->over_at;
	own->since = shared->since;
	own->has_gaps = shared->has_gaps;
	own->has_memory = shared->has_memory;
	regions_splice(all, &own->now, 0, 0, shared->now.list, shared->now.n);
	past_copy(all, &own->past, &shared->past);
	content_drop(all, shared);
	return own;
}

/* --- mapping --- */

/* Index of the first region that ends behind @addr; r->n: there is none. */
static size_t first_behind(const struct regions *r, uint64_t addr)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->list[middle].end > addr)
			high = middle;
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
 * Is @region a part of @old, so that nothing changes? A JIT compiler changes the protection of its
 * pages again and again, and each change is an event. So adjacent pages without a file are one
 * region.
 */
static bool is_in_region(const struct images *images, const struct region *old,
			 const struct region *region)
{
	return old->start <= region->start && old->end >= region->end &&
	       (images_kind(images, region->image) != IMAGE_NO_FILE ? is_same_place(old, region)
								    : old->image == region->image);
}

/* The change that one new region makes: @list replaces @n_gone regions at @at. */
struct change {
	size_t at, n_gone;
	struct region list[3]; /* rest of the first, the new region, rest of the last */
	size_t n;
	bool is_replaced; /* another mapping was there */
};

/* Extend @region by @old. Both are of one image without a file, so they become one region. */
static void join_regions(struct region *region, const struct region *old)
{
	region->start = old->start < region->start ? old->start : region->start;
	region->end = old->end > region->end ? old->end : region->end;
	region->from = old->from < region->from ? old->from : region->from;
}

/*
 * Add the part of @old between @start and @end, as a region from @until on. An empty part adds
 * none.
 */
static void add_rest_region(struct change *change, const struct region *old, uint64_t start,
			    uint64_t end, uint64_t until)
{
	struct region rest = *old;

	if (start >= end)
		return;
	rest.start = start;
	rest.end = end;
	rest.offset = old->offset + (start - old->start);
	rest.from = until;
	change->list[change->n++] = rest;
}

static void find_change(const struct spaces *all, const struct regions *now,
			const struct region *region, uint64_t until, struct change *ret)
{
	const bool is_joined = images_kind(all->images, region->image) == IMAGE_NO_FILE;
	struct region whole = *region;
	size_t i = region->start ? first_behind(now, region->start - 1) : 0;
	const struct region *first = NULL, *last = NULL;

	*ret = (struct change){};
	/* A region that ends where @region starts is not overlapped. But it may be joined. */
	if (i < now->n && now->list[i].end == region->start &&
	    !(is_joined && now->list[i].image == region->image))
		i++;
	ret->at = i;
	for (; i < now->n && now->list[i].start <= region->end; i++) {
		const struct region *old = &now->list[i];
		const bool is_part = is_joined && old->image == region->image;

		if (old->start == region->end && !is_part)
			break;
		ret->n_gone++;
		if (is_part) {
			join_regions(&whole, old);
			continue;
		}
		first = first ? first : old;
		last = old;
		ret->is_replaced = ret->is_replaced || !is_same_place(old, region);
	}
	if (first)
		add_rest_region(ret, first, first->start, whole.start, until);
	ret->list[ret->n++] = whole;
	if (last)
		add_rest_region(ret, last, whole.end > last->start ? whole.end : last->start,
				last->end, until);
}

/*
 * Map @region. Regions that it overlaps end at @until, and their parts on both sides become new
 * regions from then on. If the space has no room for all of these, some are left out (has_gaps).
 * True: another mapping was there.
 */
static bool map_in_place(struct spaces *all, struct space *s, const struct region *region,
			 uint64_t until)
{
	const struct regions *now = &s->content->now;
	const size_t at = first_behind(now, region->start);
	struct content *c;
	struct change change;

	if (at < now->n && is_in_region(all->images, &now->list[at], region))
		return false;
	c = own_content(all, s);
	if (c->now.n + c->past.regions.n >= all->most_regions)
		forget_past(all, c);
	find_change(all, &c->now, region, until, &change);
	for (size_t i = 0; i < change.n_gone; i++) {
		struct region old = c->now.list[change.at + i];

		if (old.image == region->image &&
		    images_kind(all->images, old.image) == IMAGE_NO_FILE)
			continue; /* joined with the new one */
		old.until = until;
		past_add(all, &c->past, &old);
	}

	const size_t used = c->now.n - change.n_gone + c->past.regions.n;
	const size_t room = used < all->most_regions ? all->most_regions - used : 0;

	if (change.n > room) {
		all->n_forgotten += change.n - room;
		change.n = room;
		c->has_gaps = true;
	}
	regions_splice(all, &c->now, change.at, change.n_gone, change.list, change.n);
	if (change.is_replaced) {
		c->n_replaced++;
		c->number = ++all->n_numbers;
	}
	c->has_memory = c->has_memory || images_is_memory(all->images, region->image);
	return change.is_replaced;
}

bool space_map(struct spaces *all, struct space *s, const struct region *region)
{
	return map_in_place(all, s, region, region->from);
}

void space_replace(struct spaces *all, struct space *s, const struct region *region, uint64_t until)
{
	(void)map_in_place(all, s, region, until);
}

/* --- the result of a look --- */

/*
 * Move those of @list that overlap no region to @ret, and the others to the front of @list. Returns
 * the number in @ret. Past regions need no look: without gaps, a present region lies wherever one
 * was.
 */
static size_t split_off_free(const struct content *c, struct region *list, size_t n,
			     struct region *ret)
{
	const struct regions *now = &c->now;
	uint64_t end = 0;
	size_t n_free = 0;

	for (size_t i = 0; i < n; i++) {
		const struct region one = list[i];
		const size_t at = first_behind(now, one.start);

		if (c->has_gaps || one.start < end ||
		    (at < now->n && now->list[at].start < one.end)) {
			list[i - n_free] = one;
			continue;
		}
		ret[n_free++] = one;
		end = one.end;
	}
	return n_free;
}

/* Add @list to @r. None of both overlap. One pass, because both may have 60,000 regions. */
static void merge_regions(struct spaces *all, struct regions *r, const struct region *list,
			  size_t n)
{
	size_t left = r->n;

	regions_splice(all, r, r->n, 0, list, n); /* makes room, and holds the images */
	for (size_t to = r->n; n > 0 && left > 0;) {
		const struct region *last = &r->list[left - 1];

		if (last->start > list[n - 1].start) {
			r->list[--to] = *last;
			left--;
		} else {
			r->list[--to] = list[--n];
		}
	}
	if (n)
		memcpy(r->list, list, n * sizeof(*list));
}

size_t space_add_free(struct spaces *all, struct space *s, struct region *list, size_t n)
{
	cleanup_free struct region *found = xcalloc(n, sizeof(*found));
	const size_t n_free = split_off_free(s->content, list, n, found);

	if (!n_free)
		return n;

	struct content *c = own_content(all, s);
	const size_t used = c->now.n + c->past.regions.n;
	const size_t room = used < all->most_regions ? all->most_regions - used : 0;
	const size_t n_added = n_free < room ? n_free : room;

	all->n_forgotten += n_free - n_added;
	merge_regions(all, &c->now, found, n_added);
	for (size_t i = 0; i < n_added && !c->has_memory; i++)
		c->has_memory = images_is_memory(all->images, found[i].image);
	return n - n_free;
}

void space_forget_first(struct spaces *all, struct space *s)
{
	struct content *c = own_content(all, s);

	regions_forget_first(all, &c->now);
	past_forget_first(all, &c->past);
	c->number = ++all->n_numbers;
	c->has_gaps = c->past.regions.n > 0;
}

void space_forget(struct spaces *all, struct space *s, uint64_t time)
{
	struct content *former = s->content, *c = content_new(all);

	c->n_replaced = former->n_replaced + 1;
	c->n_over = former->n_over + (uint32_t)former->past.regions.n + 1;
	c->over_at = c->since = time;
	all->n_forgotten += former->now.n + former->past.regions.n;
	content_drop(all, former);
	s->content = c;
	s->is_forgotten = true;
}

void space_note_read(struct space *s)
{
	s->is_forgotten = false;
}

/* --- questions --- */

bool space_is_forgotten(const struct space *s)
{
	return s->is_forgotten;
}

size_t space_bytes(const struct space *s)
{
	const struct content *c = s->content;

	return (c->now.capacity + c->past.regions.capacity) * sizeof(struct region) / c->n_users;
}

bool space_is_empty(const struct space *s)
{
	return s->content->now.n + s->content->past.regions.n == 0;
}

bool space_is_shared(const struct space *s)
{
	return s->n_users > 1;
}

static bool region_covers(const struct region *r, uint64_t addr, uint64_t time)
{
	return addr >= r->start && addr < r->end && r->from <= time && time < r->until;
}

/*
 * A joined region has the begin of its earliest part, so several regions may cover one time. Then
 * the one that ended first is right. So look at past regions in their order, and at present ones
 * last.
 */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time)
{
	const struct content *c = s->content;
	const size_t at = first_behind(&c->now, addr);
	const struct region *past;

	if (time && time < c->since)
		return NULL;
	/* If no address ever got another meaning, the present regions hold for all times. */
	if (!time || !c->n_replaced)
		time = UINT64_MAX - 1;
	past = time != UINT64_MAX - 1 ? past_at(&c->past, addr, time) : NULL;
	if (past)
		return past;
	return at < c->now.n && region_covers(&c->now.list[at], addr, time) ? &c->now.list[at]
									    : NULL;
}

uint32_t space_copied(const struct spaces *all, const struct space *s, uint64_t addr, uint64_t time)
{
	const struct region *r = space_at(s, addr, time), *former, *left, *right;

	if (!r || images_kind(all->images, r->image) != IMAGE_NO_FILE)
		return IMAGE_NONE;
	former = r->from > 1 ? space_at(s, addr, r->from - 1) : NULL;
	if (former && images_kind(all->images, former->image) == IMAGE_FILE)
		return former->image;
	left = space_at(s, r->start - 1, time);
	right = space_at(s, r->end, time);
	return left && right && is_same_place(left, right) &&
			       images_kind(all->images, left->image) == IMAGE_FILE
		       ? left->image
		       : IMAGE_NONE;
}

static int compare_region_starts(const void *left, const void *right)
{
	const struct region *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_there_at(const struct region *r, uint64_t time)
{
	return r->from <= time && time < r->until;
}

/* The past regions at @time, by rising address. Where several overlap, one of them. */
static size_t past_regions(const struct past *past, uint64_t time, struct region *to)
{
	const struct regions *all = &past->regions;
	size_t n = 0, n_kept = 0;

	for (size_t i = past_count(past, time); i < all->n; i++)
		if (is_there_at(&all->list[i], time))
			to[n++] = all->list[i];
	qsort(to, n, sizeof(*to), compare_region_starts);
	for (size_t i = 0; i < n; i++)
		if (!n_kept || to[i].start >= to[n_kept - 1].end)
			to[n_kept++] = to[i];
	return n_kept;
}

/* As in space_at(), past regions go first where several cover one time. */
size_t space_regions(const struct space *s, uint64_t time, struct region **ret)
{
	const struct content *c = s->content;
	const bool is_now = !time || !c->n_replaced;
	const size_t most_past = is_now ? 0 : c->past.regions.n - past_count(&c->past, time);
	struct region *list = xcalloc(c->now.n + most_past + 1, sizeof(*list));
	size_t n_past = 0, n, at = 0;

	*ret = list;
	if (time && time < c->since)
		return 0;
	if (!is_now)
		n_past = past_regions(&c->past, time, list);
	n = n_past;
	for (size_t i = 0; i < c->now.n; i++) {
		const struct region *r = &c->now.list[i];

		while (at < n_past && list[at].end <= r->start)
			at++;
		if (is_there_at(r, is_now ? UINT64_MAX - 1 : time) &&
		    (at == n_past || list[at].start >= r->end))
			list[n++] = *r;
	}
	qsort(list, n, sizeof(*list), compare_region_starts);
	return n;
}

uint64_t space_epoch(const struct space *s, uint64_t time)
{
	const struct content *c = s->content;
	const size_t n_ended = c->n_replaced ? past_count(&c->past, time) : 0;
	const uint32_t n = c->n_over + (uint32_t)n_ended + 1;

	if (time < c->over_at)
		return 0;
	return (uint64_t)c->number << 32 | n;
}

void space_note_hit(struct images *images, const struct space *s)
{
	const struct regions *now = &s->content->now;

	for (size_t i = 0; i < now->n; i++)
		images_note_hit(images, now->list[i].image);
}

bool space_has_memory(const struct space *s)
{
	return s->content->has_memory;
}
