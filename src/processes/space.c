// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A space has two lists of regions. The present regions do not overlap, and lie by rising address.
 * No event reports munmap(2), so a region stays present until another one takes its place. So
 * wherever a past region lay, there is a present one.
 *
 * Past regions lie by rising end, so that a question about a time skips those that had ended by
 * then. It looks at the others one by one.
 */
#include "processes/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

/*
 * Bounds of one space. When the past is full, its older half is forgotten. A space with more
 * present regions than twice the kernel's default of vm.max_map_count is forgotten as a whole: most
 * of these must have gone, and the next look finds the others.
 */
#define MOST_PAST 8192U
#define MOST_PRESENT 131072U

/* --- lists of regions, which hold their images --- */

static void regions_fini(struct spaces *all, struct regions *r)
{
	for (size_t i = 0; i < r->n; i++)
		images_release(all->images, r->list[i].image);
	all->bytes -= r->capacity * sizeof(*r->list);
	free(r->list);
}

/* Replace the @n_gone regions at @at by the @n of @list. */
static void regions_splice(struct spaces *all, struct regions *r, size_t at, size_t n_gone,
			   const struct region *list, size_t n)
{
	const size_t before = r->capacity, rest = r->n - at - n_gone;

	for (size_t i = 0; i < n; i++)
		images_hold(all->images, list[i].image);
	for (size_t i = 0; i < n_gone; i++)
		images_release(all->images, r->list[at + i].image);
	while (r->n + n - n_gone > r->capacity) {
		r->capacity = r->capacity ? 2 * r->capacity : 8;
		r->list = xreallocarray(r->list, r->capacity, sizeof(*r->list));
	}
	all->bytes += (r->capacity - before) * sizeof(*r->list);
	if (rest && n != n_gone)
		memmove(&r->list[at + n], &r->list[at + n_gone], rest * sizeof(*r->list));
	if (n)
		memcpy(&r->list[at], list, n * sizeof(*list));
	r->n += n - n_gone;
}

/* Index of the first region that ends behind @value: its address, or for past ones its time. */
static size_t first_behind(const struct regions *r, uint64_t value, bool is_past)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct region *m = &r->list[middle];

		if ((is_past ? m->until : m->end) > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first present region that ends behind @addr. */
static size_t first_present(const struct content *c, uint64_t addr)
{
	return first_behind(&c->now, addr, false);
}

/* The number of past regions that had ended by @time. They come first. */
static size_t count_ended(const struct content *c, uint64_t time)
{
	return first_behind(&c->past, time, true);
}

/* --- spaces and their content --- */

static struct space *space_of(struct spaces *all, struct content *content)
{
	struct space *s = xcalloc(1, sizeof(*s));

	s->content = content;
	all->bytes += sizeof(*s);
	return s;
}

static struct content *content_new(struct spaces *all)
{
	struct content *c = xcalloc(1, sizeof(*c));

	c->n_users = 1;
	c->number = ++all->n_numbers;
	all->bytes += sizeof(*c);
	return c;
}

static void content_drop(struct spaces *all, struct content *c)
{
	if (--c->n_users > 0)
		return;
	regions_fini(all, &c->now);
	regions_fini(all, &c->past);
	all->bytes -= sizeof(*c);
	free(c);
}

struct space *space_new(struct spaces *all)
{
	return space_of(all, content_new(all));
}

struct space *space_copy(struct spaces *all, struct space *s)
{
	struct space *copy = space_of(all, s->content);

	copy->content->n_users++;
	copy->is_forgotten = s->is_forgotten;
	return copy;
}

void space_drop(struct spaces *all, struct space *s)
{
	all->bytes -= sizeof(*s);
	content_drop(all, s->content);
	free(s);
}

/* The content of @s, for writing: a copy if other spaces share it. */
static struct content *own_content(struct spaces *all, struct space *s)
{
	struct content *shared = s->content, *own;

	if (shared->n_users == 1)
		return shared;
	own = s->content = content_new(all);
	own->n_over = shared->n_over;
	own->over_at = shared->over_at;
	own->since = shared->since;
	own->is_replaced = shared->is_replaced;
	own->has_memory = shared->has_memory;
	regions_splice(all, &own->now, 0, 0, shared->now.list, shared->now.n);
	regions_splice(all, &own->past, 0, 0, shared->past.list, shared->past.n);
	content_drop(all, shared);
	return own;
}

void space_forget(struct spaces *all, struct space *s, uint64_t time)
{
	struct content *former = s->content, *c = content_new(all);

	c->is_replaced = true;
	c->over_at = c->since = time;
	all->n_forgotten += former->now.n + former->past.n;
	content_drop(all, former);
	s->content = c;
	s->is_forgotten = true;
}

/* --- mapping --- */

static bool is_without_file(const struct region *r)
{
	return r->image->kind == IMAGE_NO_FILE;
}

/* Does an address have the same meaning in both? */
static bool is_same_code(const struct region *a, const struct region *b)
{
	return a->image == b->image &&
	       (is_without_file(a) || a->offset - a->start == b->offset - b->start);
}

static void add_past(struct spaces *all, struct content *c, struct region old, uint64_t until)
{
	struct regions *past = &c->past;

	if (past->n == MOST_PAST) {
		const uint32_t n = MOST_PAST / 2;

		c->over_at = later_time(c->over_at, past->list[n - 1].until);
		c->n_over += n;
		all->n_forgotten += n;
		regions_splice(all, past, 0, n, NULL, 0);
	}
	old.until = until;
	c->past_start = past->n && c->past_start < old.start ? c->past_start : old.start;
	c->past_end = past->n && c->past_end > old.end ? c->past_end : old.end;
	regions_splice(all, past, count_ended(c, until), 0, &old, 1);
}

/* The part of @old between @start and @end, as a region from @from on. */
static struct region part_of(const struct region *old, uint64_t start, uint64_t end, uint64_t from)
{
	return (struct region){ start,      end,  old->offset + (start - old->start),
				old->image, from, UINT64_MAX };
}

/*
 * A JIT compiler changes the protection of its pages again and again, and each change is an event.
 * So adjacent regions of one image without a file become one region, with the earliest begin.
 */
static bool is_joined(const struct region *old, const struct region *region)
{
	return is_without_file(region) && old->image == region->image;
}

static void join(struct region *region, const struct region *old)
{
	region->start = old->start < region->start ? old->start : region->start;
	region->end = old->end > region->end ? old->end : region->end;
	region->from = old->from < region->from ? old->from : region->from;
}

bool space_map(struct spaces *all, struct space *s, const struct region *region)
{
	struct region whole = *region, left = {}, right = {}, pieces[3];
	size_t first = first_present(s->content, region->start), end, n = 0;
	const struct region *list = s->content->now.list;
	bool is_replaced = false;

	if (first < s->content->now.n && list[first].start <= region->start &&
	    list[first].end >= region->end && is_same_code(&list[first], region))
		return false; /* nothing changes */
	if (s->content->now.n + 2 > MOST_PRESENT) {
		space_forget(all, s, region->from);
		is_replaced = true;
		first = 0;
	}

	struct content *c = own_content(all, s);

	list = c->now.list;
	if (first > 0 && list[first - 1].end == region->start &&
	    is_joined(&list[first - 1], region))
		first--;
	for (end = first; end < c->now.n && list[end].start <= region->end; end++) {
		const struct region *old = &list[end];

		if (is_joined(old, region)) {
			join(&whole, old);
			continue;
		}
		if (old->start == region->end)
			break;
		is_replaced = is_replaced || !is_same_code(old, region);
		if (old->start < region->start)
			left = part_of(old, old->start, region->start, region->from);
		if (old->end > region->end)
			right = part_of(old, region->end, old->end, region->from);
		add_past(all, c, *old, region->from);
	}
	if (left.image)
		pieces[n++] = left;
	pieces[n++] = whole;
	if (right.image)
		pieces[n++] = right;
	regions_splice(all, &c->now, first, end - first, pieces, n);
	if (is_replaced) {
		c->is_replaced = true;
		c->number = ++all->n_numbers;
	}
	c->has_memory = c->has_memory || region->image->is_memory;
	return is_replaced;
}

/* --- the result of a look --- */

void space_add_free(struct spaces *all, struct space *s, const struct region *list, size_t n)
{
	cleanup_free struct region *found = xcalloc(n, sizeof(*found));
	struct content *c = s->content;
	const size_t room = c->now.n < MOST_PRESENT ? MOST_PRESENT - c->now.n : 0;
	size_t n_free = 0, n_added;
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t at = first_present(c, list[i].start);

		if (list[i].start < end || (at < c->now.n && c->now.list[at].start < list[i].end))
			continue;
		found[n_free++] = list[i];
		end = list[i].end;
	}
	if (!n_free)
		return;
	n_added = n_free < room ? n_free : room;
	c = own_content(all, s);
	all->n_forgotten += n_free - n_added;
	regions_splice(all, &c->now, c->now.n, 0, found, n_added);
	qsort(c->now.list, c->now.n, sizeof(*c->now.list), array_compare_u64);
	for (size_t i = 0; i < n_added && !c->has_memory; i++)
		c->has_memory = found[i].image->is_memory;
}

/* --- questions --- */

size_t space_bytes(const struct space *s)
{
	const struct content *c = s->content;

	return (c->now.capacity + c->past.capacity) * sizeof(struct region) / c->n_users;
}

/* If no address ever got another meaning, the present regions hold for all times. */
static bool is_of_now(const struct content *c, uint64_t time)
{
	return !time || !c->is_replaced;
}

/*
 * A joined region has the begin of its earliest part, so several regions may cover one time. Then
 * the one that ended first is right. So past regions come first, in their order.
 */
const struct region *space_at(const struct space *s, uint64_t addr, uint64_t time)
{
	const struct content *c = s->content;
	const size_t at = first_present(c, addr);
	const bool is_now = is_of_now(c, time);
	const bool is_past = !is_now && addr >= c->past_start && addr < c->past_end;

	if (time && time < c->since)
		return NULL;
	for (size_t i = is_past ? count_ended(c, time) : c->past.n; i < c->past.n; i++) {
		const struct region *r = &c->past.list[i];

		if (addr >= r->start && addr < r->end && r->from <= time)
			return r;
	}
	if (at == c->now.n || addr < c->now.list[at].start)
		return NULL;
	return is_now || c->now.list[at].from <= time ? &c->now.list[at] : NULL;
}

const struct image_entry *space_copied(const struct space *s, uint64_t addr, uint64_t time)
{
	const struct region *r = space_at(s, addr, time), *former, *left, *right;

	if (!r || !is_without_file(r))
		return NULL;
	former = r->from > 1 ? space_at(s, addr, r->from - 1) : NULL;
	if (former && former->image->kind == IMAGE_FILE)
		return former->image;
	left = space_at(s, r->start - 1, time);
	right = space_at(s, r->end, time);
	return left && right && left->image->kind == IMAGE_FILE && is_same_code(left, right)
		       ? left->image
		       : NULL;
}

/* As in space_at(), past regions go first where several cover one time. */
size_t space_regions(const struct space *s, uint64_t time, struct region **ret)
{
	const struct content *c = s->content;
	const bool is_now = is_of_now(c, time);
	const size_t ended = is_now ? c->past.n : count_ended(c, time);
	struct region *list = xcalloc(c->now.n + c->past.n - ended + 1, sizeof(*list));
	size_t n = 0, n_kept = 0;

	*ret = list;
	if (time && time < c->since)
		return 0;
	for (size_t i = ended; i < c->past.n; i++)
		if (c->past.list[i].from <= time)
			list[n++] = c->past.list[i];
	for (size_t i = 0; i < c->now.n; i++)
		if (is_now || c->now.list[i].from <= time)
			list[n++] = c->now.list[i];
	qsort(list, n, sizeof(*list), array_compare_u64);
	for (size_t i = 0; i < n; i++) {
		const struct region one = list[i], *last = n_kept ? &list[n_kept - 1] : NULL;

		if (last && last->end > one.start) {
			if (last->until != UINT64_MAX || one.until == UINT64_MAX)
				continue;
			n_kept--;
		}
		list[n_kept++] = one;
	}
	return n_kept;
}

uint64_t space_epoch(const struct space *s, uint64_t time)
{
	const struct content *c = s->content;
	const size_t n_ended = c->is_replaced ? count_ended(c, time) : 0;

	if (time < c->over_at)
		return 0;
	return (uint64_t)c->number << 32 | (c->n_over + (uint32_t)n_ended + 1);
}

void space_note_hit(const struct images *images, const struct space *s)
{
	const struct regions *now = &s->content->now;

	for (size_t i = 0; i < now->n; i++)
		images_note_hit(images, now->list[i].image);
}
