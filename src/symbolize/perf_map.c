// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A perf map, /tmp/perf-PID.map: start and size, hexadecimal, and a name up to the line's end.
 *
 *	7f31c0000b40 1c4 JS:*fib /srv/app.js:3:13            node --perf-basic-prof
 *	0x00007fc5a8b2f0c0 0x00000060 I2C/C2I adapters       jcmd PID Compiler.perfmap
 *	7F9C2A4B1230 5a [Tier0] void [app] Main::Run()       .NET, DOTNET_PerfMapEnabled=1
 *
 * If lines overlap, the later one counts. flatten_lines() turns each reading into spans that do not
 * overlap. overlay_spans() lays them over the former spans. Covered spans move to the past, with
 * the two times between which they were replaced.
 */
#include "symbolize/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/read.h"
#include "base/strbuf.h"
#include "base/strtab.h"

#define MOST_LINE_BYTES 4096
#define MOST_LINES (1U << 20)
#define MOST_BYTES (96ULL << 20)
#define MOST_PAST 32768
#define MOST_CHANGES 4096

struct span {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t function;
	const char *name;
	uint64_t after,
		by; /* the line was written between these; until perf_map_settle(): its number */
};

struct past_span {
	struct span span;
	uint64_t gone_after, gone_by;
	uint64_t reach; /* the highest end of this span and all before */
};

struct spans {
	struct span *spans;
	size_t n, capacity;
};

/* Functions have replaced others, between these two times. */
struct change {
	uint64_t after, by;
};

struct perf_map {
	struct strtab *names;
	struct strbuf rest; /* the last line, if it has no newline yet */
	bool is_skipping;   /* that line is too long */
	bool is_restarted;
	struct spans fresh; /* lines, as they came */
	struct spans now;   /* by rising address; they do not overlap */
	struct past_span *past;
	size_t n_past, cap_past; /* by rising start */
	uint64_t forgotten;      /* spans that were gone by this time may be missing in @past */
	struct change *changes;  /* by rising time */
	size_t n_changes, cap_changes;
	uint32_t n_old_changes; /* changes that are not in @changes any more */
	uint32_t n_lines;       /* in all */
	uint64_t n_garbage;
};

struct perf_map *perf_map_new(void)
{
	struct perf_map *m = xcalloc(1, sizeof(*m));

	m->names = strtab_new();
	return m;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	strtab_free(m->names);
	strbuf_fini(&m->rest);
	free(m->fresh.spans);
	free(m->now.spans);
	free(m->past);
	free(m->changes);
	free(m);
}

void perf_map_freep(struct perf_map **m)
{
	perf_map_free(*m);
	*m = NULL;
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return sizeof(*m) + strtab_bytes(m->names) + m->rest.capacity +
	       (m->fresh.capacity + m->now.capacity) * sizeof(struct span) +
	       m->cap_past * sizeof(*m->past) + m->cap_changes * sizeof(*m->changes);
}

bool perf_map_is_full(const struct perf_map *m)
{
	return m->n_lines >= MOST_LINES || perf_map_bytes(m) >= MOST_BYTES;
}

uint64_t perf_map_garbage(const struct perf_map *m)
{
	return m->n_garbage;
}

bool perf_map_is_garbage(const struct perf_map *m)
{
	return (m->n_garbage || m->is_skipping) && !m->n_lines && !m->now.n && !m->n_past;
}

/* --- text to lines --- */

static const char *behind_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* With or without 0x, and a blank behind it. */
static bool parse_hex_field(const char **at, uint64_t *ret)
{
	if ((*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	if (!take_hex(at, ret) || (**at != ' ' && **at != '\t'))
		return false;
	*at = behind_blanks(*at);
	return true;
}

/* @line ends with a NUL, but may have others. */
static bool parse_line(struct perf_map *m, const char *line, struct span *ret)
{
	uint64_t size;
	const char *at = behind_blanks(line);

	if (!parse_hex_field(&at, &ret->start) || !parse_hex_field(&at, &size))
		return false;
	if (size == 0 || size > UINT64_MAX - ret->start)
		return false;

	size_t n = strlen(at);

	while (n && strchr(" \t\r", at[n - 1]))
		n--;
	if (n == 0)
		return false;
	ret->end = ret->start + size;
	ret->function = ret->start;
	ret->name = strtab_add_n(m->names, at, n);
	return true;
}

static void finish_line(struct perf_map *m)
{
	struct span line = {};

	if (m->is_skipping || !m->rest.n || !parse_line(m, m->rest.text, &line)) {
		m->n_garbage++;
	} else {
		line.by = m->n_lines++;
		array_push(m->fresh.spans, m->fresh.n, m->fresh.capacity, line);
	}
	m->is_skipping = false;
	strbuf_clear(&m->rest);
}

static void add_to_line(struct perf_map *m, const char *text, size_t n)
{
	if (m->rest.n + n > MOST_LINE_BYTES)
		m->is_skipping = true;
	if (!m->is_skipping)
		strbuf_put(&m->rest, text, n);
}

void perf_map_add(struct perf_map *m, const char *text, size_t n)
{
	while (n && !perf_map_is_full(m)) {
		const char *newline = memchr(text, '\n', n);
		size_t length = newline ? (size_t)(newline - text) : n;

		add_to_line(m, text, length);
		if (!newline)
			return;
		finish_line(m);
		text += length + 1;
		n -= length + 1;
	}
}

void perf_map_restart(struct perf_map *m)
{
	m->is_restarted = true;
	m->is_skipping = false;
	m->n_lines = 0;
	m->fresh.n = 0;
	strbuf_clear(&m->rest);
}

/* --- lines to spans --- */

static int compare_span_starts(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_same_function(const struct span *a, const struct span *b)
{
	return a->name == b->name && a->function == b->function;
}

/* Append [@start, @end) of @span to @to. */
static void put_span(struct spans *to, const struct span *span, uint64_t start, uint64_t end)
{
	struct span *last = to->n ? &to->spans[to->n - 1] : NULL;
	struct span piece = *span;

	if (last && last->end == start && is_same_function(last, span) &&
	    last->after == span->after && last->by == span->by) {
		last->end = end;
		return;
	}
	piece.start = start;
	piece.end = end;
	array_push(to->spans, to->n, to->capacity, piece);
}

/* A heap of the lines that begin at or before a place. The latest line of the file is first. */
struct open_lines {
	const struct span **lines;
	size_t n, capacity;
};

static void open_line(struct open_lines *open, const struct span *line)
{
	size_t i = open->n;

	array_push(open->lines, open->n, open->capacity, line);
	for (; i && open->lines[(i - 1) / 2]->by < line->by; i = (i - 1) / 2)
		open->lines[i] = open->lines[(i - 1) / 2];
	open->lines[i] = line;
}

static void close_first_line(struct open_lines *open)
{
	const struct span *last = open->lines[--open->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < open->n; i = child) {
		if (child + 1 < open->n && open->lines[child + 1]->by > open->lines[child]->by)
			child++;
		if (open->lines[child]->by < last->by)
			break;
		open->lines[i] = open->lines[child];
	}
	open->lines[i] = last;
}

/* Turn @lines into spans. Each place belongs to the last line that has it. */
static void flatten_lines(struct spans *lines, struct spans *to)
{
	struct open_lines open = {};
	uint64_t at = 0;

	if (lines->n)
		qsort(lines->spans, lines->n, sizeof(*lines->spans), compare_span_starts);
	for (size_t i = 0; i < lines->n || open.n;) {
		if (!open.n && lines->spans[i].start > at)
			at = lines->spans[i].start;
		while (i < lines->n && lines->spans[i].start <= at)
			open_line(&open, &lines->spans[i++]);

		const struct span *first = open.lines[0];
		uint64_t end = first->end;

		if (end <= at) {
			close_first_line(&open);
			continue;
		}
		if (i < lines->n && lines->spans[i].start < end)
			end = lines->spans[i].start;
		put_span(to, first, at, end);
		at = end;
	}
	free(open.lines);
}

/* --- spans over spans --- */

static void put_past(struct perf_map *m, const struct span *span, uint64_t start, uint64_t end)
{
	struct past_span past = { .span = *span };

	past.span.start = start;
	past.span.end = end;
	array_push(m->past, m->n_past, m->cap_past, past);
}

/*
 * Add the span between @bounds, where @old and @fresh are both; either may be NULL. True: @old has
 * gone from there.
 */
static bool put_place(struct perf_map *m, struct spans *to, const struct span *old,
		      const struct span *fresh, uint64_t bounds[2])
{
	if (!fresh && !m->is_restarted) {
		put_span(to, old, bounds[0], bounds[1]);
		return false;
	}
	if (old && fresh && is_same_function(old, fresh)) {
		put_span(to, old, bounds[0], bounds[1]);
		return false;
	}
	if (old)
		put_past(m, old, bounds[0], bounds[1]);
	if (fresh)
		put_span(to, fresh, bounds[0], bounds[1]);
	return old != NULL;
}

/* The first end or start of @span behind @at. */
static uint64_t next_bound(const struct span *span, uint64_t at)
{
	if (!span)
		return UINT64_MAX;
	return span->start > at ? span->start : span->end;
}

static uint64_t smaller_bound(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Lay @fresh over the present spans. True: a function was replaced. */
static bool overlay_spans(struct perf_map *m, const struct spans *fresh)
{
	struct spans all = {};
	bool is_changed = false;
	uint64_t at = 0;

	for (size_t o = 0, f = 0; o < m->now.n || f < fresh->n;) {
		const struct span *old = o < m->now.n ? &m->now.spans[o] : NULL;
		const struct span *new = f < fresh->n ? &fresh->spans[f] : NULL;
		uint64_t end = smaller_bound(next_bound(old, at), next_bound(new, at));
		const struct span *old_here = old && old->start <= at ? old : NULL;
		const struct span *new_here = new &&new->start <= at ? new : NULL;

		if (old_here || new_here)
			is_changed |=
				put_place(m, &all, old_here, new_here, (uint64_t[]){ at, end });
		at = end;
		o += old && old->end <= at;
		f += new &&new->end <= at;
	}
	free(m->now.spans);
	m->now = all;
	return is_changed;
}

/* --- the past --- */

static int compare_past(const void *left, const void *right)
{
	const struct past_span *a = left, *b = right;

	return compare_span_starts(&a->span, &b->span);
}

static int compare_gone(const void *left, const void *right)
{
	const struct past_span *a = left, *b = right;

	return a->gone_by > b->gone_by ? -1 : a->gone_by < b->gone_by;
}

/* Give the past spans from @n_before on, which have gone just now, their times. */
static void settle_past(struct perf_map *m, size_t n_before, uint64_t after, uint64_t by)
{
	uint64_t reach = 0;

	if (m->n_past == n_before)
		return;
	for (size_t i = n_before; i < m->n_past; i++) {
		m->past[i].gone_after = after;
		m->past[i].gone_by = by;
	}
	if (m->n_past > MOST_PAST) {
		qsort(m->past, m->n_past, sizeof(*m->past), compare_gone);
		m->n_past = MOST_PAST / 2;
		m->forgotten = m->past[m->n_past].gone_by;
	}
	qsort(m->past, m->n_past, sizeof(*m->past), compare_past);
	for (size_t i = 0; i < m->n_past; i++) {
		if (m->past[i].span.end > reach)
			reach = m->past[i].span.end;
		m->past[i].reach = reach;
	}
}

static void note_change(struct perf_map *m, uint64_t after, uint64_t by)
{
	if (m->n_changes == MOST_CHANGES) {
		memmove(m->changes, m->changes + MOST_CHANGES / 2,
			MOST_CHANGES / 2 * sizeof(*m->changes));
		m->n_changes -= MOST_CHANGES / 2;
		m->n_old_changes += MOST_CHANGES / 2;
	}
	array_push(m->changes, m->n_changes, m->cap_changes, ((struct change){ after, by }));
}

bool perf_map_settle(struct perf_map *m, uint64_t after, uint64_t by)
{
	const size_t n_before = m->n_past;
	struct spans flat = {};
	bool is_changed;

	if (!m->fresh.n && !m->is_restarted)
		return false;
	flatten_lines(&m->fresh, &flat);
	for (size_t i = 0; i < flat.n; i++) {
		flat.spans[i].after = after;
		flat.spans[i].by = by;
	}
	is_changed = overlay_spans(m, &flat);
	free(flat.spans);
	free(m->fresh.spans);
	m->fresh = (struct spans){};
	m->is_restarted = false;
	settle_past(m, n_before, after, by);
	if (is_changed)
		note_change(m, after, by);
	return is_changed;
}

uint32_t perf_map_epoch(const struct perf_map *m, uint64_t time)
{
	uint32_t n = 2 * (m->n_old_changes + (uint32_t)m->n_changes);

	for (size_t i = m->n_changes; time && i-- > 0 && m->changes[i].by > time;)
		n -= m->changes[i].after >= time ? 2 : 1;
	return n;
}

/* --- questions --- */

static const struct span *span_at(const struct spans *s, uint64_t addr)
{
	size_t low = 0, high = s->n; /* the first that ends behind @addr */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->spans[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low < s->n && s->spans[low].start <= addr ? &s->spans[low] : NULL;
}

/*
 * The spans of an address around a time: @before was certainly written by then, @behind perhaps
 * after.
 */
struct around {
	const struct span *before, *behind;
	uint64_t gone_after; /* of @before */
};

static void look_around_span(struct around *a, const struct span *span, uint64_t gone_after,
			     uint64_t time)
{
	if (span->by <= time && (!a->before || span->by > a->before->by)) {
		a->before = span;
		a->gone_after = gone_after;
	}
	if (span->by > time && (!a->behind || span->by < a->behind->by))
		a->behind = span;
}

static void look_around_in_past(const struct perf_map *m, uint64_t addr, uint64_t time,
				struct around *a)
{
	size_t low = 0, high = m->n_past; /* the first that starts behind @addr */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->past[middle].span.start > addr)
			high = middle;
		else
			low = middle + 1;
	}
	while (low-- > 0 && m->past[low].reach > addr)
		if (m->past[low].span.end > addr)
			look_around_span(a, &m->past[low].span, m->past[low].gone_after, time);
}

static const struct span *span_then(const struct perf_map *m, uint64_t addr, uint64_t time)
{
	const struct span *now = span_at(&m->now, addr);
	struct around a = {};

	if (!time || (now && now->by <= time))
		return now;
	if (now)
		look_around_span(&a, now, UINT64_MAX, time);
	look_around_in_past(m, addr, time, &a);
	if (!a.before)
		return time < m->forgotten ? NULL : a.behind;
	if (time <= a.gone_after || (a.behind && is_same_function(a.before, a.behind)))
		return a.before;
	return NULL;
}

bool perf_map_at(const struct perf_map *m, uint64_t addr, uint64_t time,
		 struct perf_map_function *ret)
{
	const struct span *span = span_then(m, addr, time);

	if (!span)
		return false;
	*ret = (struct perf_map_function){ span->name, span->function };
	return true;
}
