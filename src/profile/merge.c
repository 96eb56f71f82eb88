// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/saturated.h"
#include "base/strbuf.h"

/* The result so far, and the state of adding one profile. */
struct merger {
	unsigned keep;
	const struct profile_sides *sides;
	struct frame_table table; /* strings are lent by the profiles */
	struct u64_map numbers;   /* of frames, and of images: by the hash of a key */
	struct profile_builder *builder;
	const struct profile_about **runs; /* of all profiles, then those of before their changes */
	bool is_before; /* the values of profiles are those before a change, from now on */
	/* Of one profile: its numbers of things are indices. */
	const struct profile *from;
	uint32_t *frames;
	size_t places[PROFILE_MOST_VALUES]; /* of its values in the result; one more: none */
	uint32_t *row;                      /* of frame numbers */
	size_t row_capacity;
};

static bool has_two_sides(const struct merger *m)
{
	return m->sides->n_after < m->sides->n;
}

static void merger_fini(struct merger *m)
{
	free(m->table.frames);
	free(m->table.images);
	free(m->runs);
	u64_map_fini(&m->numbers);
	profile_builder_freep(&m->builder);
	free(m->row);
}

/* --- frames --- */

static uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strlen(text)) : 0;
}

/*
 * Two frames, or two images, with equal keys are one. Numbers in a key that do not matter are 0.
 * Hashes have 64 bits and a secret seed: no file can have two keys meet.
 *
 * A file may have several paths, in a container and outside of it.
 */
static uint32_t merge_image(struct merger *m, const struct frame_image *image)
{
	const char *slash = image->path ? strrchr(image->path, '/') : NULL;
	const bool has_addresses = m->keep & KEEP_ADDRESSES;
	const bool is_last_part = slash && image->build_id && !has_addresses;
	const uint64_t key[] = { hash_text(is_last_part ? slash + 1 : image->path),
				 hash_text(image->build_id), has_addresses ? image->start : 0,
				 has_addresses ? image->limit : 0,
				 has_addresses ? image->offset : 0 };
	bool is_new;
	const uint32_t number = *u64_map_put(&m->numbers, hash_bytes(key, sizeof(key)),
					     (uint32_t)m->table.n_images, &is_new);

	if (is_new)
		array_push(m->table.images, m->table.n_images, m->table.image_capacity, *image);
	return number;
}

/* @frame has its new image. *@is_new: it is to be added. */
static uint32_t number_of_frame(struct merger *m, const struct frame *frame, bool *is_new)
{
	const bool has_name = frame->name && *frame->name;
	const bool is_by_name = (m->keep & MERGE_BUILDS) && has_name;
	const bool has_addresses = m->keep & KEEP_ADDRESSES;
	const bool has_offset = m->keep & (KEEP_OFFSETS | KEEP_ADDRESSES) && !frame->is_inlined;
	const uint64_t flags = (uint64_t)frame->is_jit << 8 | (uint64_t)frame->is_inlined << 16 |
			       (uint64_t)frame->is_machinery << 17 |
			       (uint64_t)frame->is_in_file << 18 | (uint64_t)frame->has_start << 19;
	const uint64_t key[] = {
		frame->kind | (is_by_name ? 0 : flags),
		is_by_name ? NO_IMAGE : frame->image,
		has_name ? hash_text(frame->name) : 0,
		hash_text(frame->module),
		hash_text(frame->file),
		frame->line,
		/* of a function without a name, in its module */
		!has_name && frame->has_start ? frame->module_offset - frame->offset : 0,
		has_offset ? frame->offset : 0,
		has_addresses ? frame->addr : 0,
		has_addresses ? frame->module_offset : 0,
		has_addresses ? frame->file_offset : 0,
	};

	return *u64_map_put(&m->numbers, hash_bytes(key, sizeof(key)), (uint32_t)m->table.n,
			    is_new);
}

/* The address that @addr of the file in @from has in @to, if both mappings are known. */
static uint64_t move_addr(uint64_t addr, const struct frame_image *from,
			  const struct frame_image *to)
{
	if (!from->limit || !to->limit)
		return addr;
	return addr - (from->start - from->offset) + (to->start - to->offset);
}

static uint32_t merge_frame(struct merger *m, struct frame frame, const uint32_t *images)
{
	const struct frame_table *from = &m->from->frames;
	const bool has_image = frame.image < from->n_images;
	bool is_new;

	if (has_image)
		frame.addr = move_addr(frame.addr, &from->images[frame.image],
				       &m->table.images[images[frame.image]]);
	frame.image = has_image ? images[frame.image] : NO_IMAGE;
	if (!(m->keep & KEEP_LINES)) {
		frame.file = NULL;
		frame.line = 0;
	}

	const uint32_t number = number_of_frame(m, &frame, &is_new);

	if (is_new)
		array_push(m->table.frames, m->table.n, m->table.capacity, frame);
	m->table.frames[number].is_inlined &= frame.is_inlined;
	return number;
}

/* The numbers of @from's frames in the result; the caller frees them. */
static uint32_t *merge_frames(struct merger *m)
{
	const struct frame_table *from = &m->from->frames;
	cleanup_free uint32_t *images = xcalloc(from->n_images + 1, sizeof(*images));
	uint32_t *numbers = xcalloc(from->n + 1, sizeof(*numbers));

	for (size_t i = 0; i < from->n_images; i++)
		images[i] = merge_image(m, &from->images[i]);
	for (size_t i = 0; i < from->n; i++)
		numbers[i] = merge_frame(m, from->frames[i], images);
	return numbers;
}

/* --- values --- */

static struct profile_value keep_value(struct profile *to, const struct profile_value *value)
{
	return (struct profile_value){ strtab_add_or_null(to->strings, value->name),
				       strtab_add_or_null(to->strings, value->unit) };
}

/* Of @from's value @i. The second one of a name has the place of the second one. */
static size_t place_of_value(const struct merger *m, size_t i)
{
	const struct profile *first = m->sides->of[0];
	const struct profile_value *value = &m->from->values[i];
	size_t n_before = 0, place;

	for (size_t k = 0; k < i; k++)
		n_before += profile_value_is_same(&m->from->values[k], value);
	for (place = 0; place < first->n_values; place++)
		if (profile_value_is_same(&first->values[place], value) && n_before-- == 0)
			break;
	return place;
}

static int64_t value_at(int64_t first, const int64_t *more, size_t i)
{
	return i == 0 ? first : more ? more[i - 1] : 0;
}

/* Add up @stack's values at their places in the result. */
static void place_values(const struct merger *m, const struct profile_stack *stack, int64_t *now,
			 int64_t *before)
{
	for (size_t i = 0; i < m->from->n_values; i++) {
		const size_t place = m->places[i];

		add_to(m->is_before ? &before[place] : &now[place],
		       value_at(stack->count, stack->more, i));
		if (!has_two_sides(m))
			add_to(&before[place],
			       value_at(stack->count_before, stack->more_before, i));
	}
}

/* --- stacks --- */

static void put_row(struct merger *m, const struct profile_stack *stack)
{
	const size_t n = (size_t)stack->n_kernel + stack->n_user;

	if (n > m->row_capacity) {
		m->row_capacity = 2 * n;
		m->row = xreallocarray(m->row, m->row_capacity, sizeof(*m->row));
	}
	for (size_t i = 0; i < n; i++)
		m->row[i] = m->frames[stack->frames[i]];
}

static uint32_t merge_stack(struct merger *m, const struct profile_stack *stack)
{
	int64_t now[PROFILE_MOST_VALUES + 1] = {}, before[PROFILE_MOST_VALUES + 1] = {};

	place_values(m, stack, now, before);
	put_row(m, stack);

	const struct profile_stack merged = {
		.n_kernel = stack->n_kernel,
		.n_user = stack->n_user,
		.frames = m->row,
		.count = now[0],
		.more = now + 1,
		.count_before = before[0],
		.more_before = has_two_sides(m) || m->from->is_difference ? before + 1 : NULL,
		.pid = m->keep & KEEP_PIDS ? stack->pid : 0,
		.comm = m->keep & KEEP_COMMS ? stack->comm : NULL,
	};

	return profile_builder_add(m->builder, &merged);
}

/* --- slices --- */

static uint64_t earliest_begin(const struct profile_about *const *from, size_t n)
{
	uint64_t begin_ns = 0;

	for (size_t k = 0; k < n; k++)
		if (from[k]->begin_ns && (!begin_ns || from[k]->begin_ns < begin_ns))
			begin_ns = from[k]->begin_ns;
	return begin_ns;
}

/* Of a difference, a profile without slices is one slice. */
static size_t n_slices_of(const struct merger *m, const struct profile *p)
{
	return p->n_slices || !has_two_sides(m) ? p->n_slices : 1;
}

/* Append the slices of @m->from. Returns the number of the first one in the result. */
static uint32_t merge_slices(struct merger *m)
{
	const struct profile *from = m->from;
	const struct profile_slice whole = { 0, from->about.duration_ns };
	const uint32_t first = (uint32_t)profile_builder_profile(m->builder)->n_slices;

	for (size_t i = 0; i < n_slices_of(m, from); i++) {
		const struct profile_slice *of = from->n_slices ? &from->slices[i] : &whole;

		(void)profile_builder_slice(m->builder, of->begin_ns, of->end_ns);
	}
	return first;
}

/* --- one profile after the other --- */

static void merge_profile(struct merger *m)
{
	const struct profile *from = m->from;
	const bool has_slices = m->keep & KEEP_SLICES;
	const uint32_t first = has_slices ? merge_slices(m) : 0;
	size_t part = 0;

	for (size_t i = 0; i < from->n_values; i++)
		m->places[i] = place_of_value(m, i);
	m->frames = merge_frames(m);
	for (size_t i = 0; i < from->n_stacks; i++) {
		const uint32_t number = merge_stack(m, &from->stacks[i]);

		for (; has_slices && part < from->n_parts && from->parts[part].stack == i; part++)
			profile_builder_part(m->builder, number, first + from->parts[part].slice,
					     from->parts[part].count);
		if (has_slices && n_slices_of(m, from) > from->n_slices)
			profile_builder_part(m->builder, number, first, from->stacks[i].count);
	}
	free(m->frames);
}

static void merge_loss(struct profile *to, const char *reason, uint64_t n)
{
	size_t k = 0;

	while (k < to->n_losses && strcmp(to->losses[k].reason, reason) != 0)
		k++;
	if (k == to->n_losses)
		profile_add_loss(to, reason, n);
	else if (__builtin_add_overflow(to->losses[k].n, n, &to->losses[k].n))
		to->losses[k].n = UINT64_MAX;
}

/* Losses before a change are reasons of their own. */
static void merge_losses(struct profile *to, const struct profile *from, bool is_before)
{
	cleanup_strbuf struct strbuf reason = {};

	for (size_t i = 0; i < from->n_losses; i++) {
		strbuf_clear(&reason);
		strbuf_puts(&reason, is_before ? "before the change: " : "");
		strbuf_puts(&reason, from->losses[i].reason);
		merge_loss(to, reason.text, from->losses[i].n);
	}
}

/* --- profile_about --- */

/* The text of member @at. Of several, the first one, and "...". */
static const char *merge_texts(struct strtab *strings, const struct profile_about *const *from,
			       size_t n, size_t at)
{
	const char *first = NULL;
	bool is_one = true;

	for (size_t k = 0; k < n; k++) {
		const char *text = *(const char *const *)((const char *)from[k] + at);

		first = first ? first : text;
		is_one = is_one && (!text || strcmp(text, first) == 0);
	}
	if (is_one)
		return strtab_add_or_null(strings, first);

	cleanup_free char *several = xasprintf("%s, ...", first);

	return strtab_add(strings, several);
}

/*
 * The longest period, as "go tool pprof" has it. It refuses to merge profiles with periods of
 * different types. A sum of these has no period. The price of a hit is that of one run.
 */
static void merge_periods(struct profile *to, const struct profile *const *from, size_t n)
{
	int64_t longest = 0;

	to->about.cost_ns = n == 1 ? from[0]->about.cost_ns : 0;
	for (size_t k = 0; k < n; k++) {
		const struct profile_about *about = &from[k]->about;

		if (!profile_value_is_same(&about->period_type, &from[0]->about.period_type))
			return;
		longest = about->period > longest ? about->period : longest;
	}
	to->about.period_type = keep_value(to, &from[0]->about.period_type);
	to->about.period = longest;
}

/* What was run, when and how long. */
static void merge_runs(struct profile_about *to, struct strtab *strings,
		       const struct profile_about *const *from, size_t n)
{
	to->program = merge_texts(strings, from, n, offsetof(struct profile_about, program));
	to->command_line =
		merge_texts(strings, from, n, offsetof(struct profile_about, command_line));
	to->host = merge_texts(strings, from, n, offsetof(struct profile_about, host));
	to->kernel = merge_texts(strings, from, n, offsetof(struct profile_about, kernel));
	to->begin_ns = earliest_begin(from, n);
	for (size_t k = 0; k < n; k++)
		to->duration_ns += from[k]->duration_ns;
}

static void merge_about(struct profile *to, const struct merger *m)
{
	const size_t n = m->sides->n, n_after = m->sides->n_after;

	merge_periods(to, m->sides->of, n_after);
	merge_runs(&to->about, to->strings, m->runs, n_after);
	merge_runs(&to->about_before, to->strings, m->runs + n_after,
		   has_two_sides(m) ? n - n_after : n);
	for (size_t k = 0; k < n && !has_two_sides(m); k++)
		to->is_normalized |= m->sides->of[k]->is_normalized;
}

static void merge_sums(struct profile *to, const struct merger *m)
{
	const struct profile *from = m->from;
	const int64_t hidden = m->is_before ? 0 : from->hidden;
	const int64_t hidden_before = m->is_before       ? from->hidden
				      : has_two_sides(m) ? 0
							 : from->hidden_before;

	add_to(&to->hidden, hidden);
	add_to(&to->total, hidden);
	add_to(&to->hidden_before, hidden_before);
	add_to(&to->total_before, hidden_before);
	to->n_hidden += from->n_hidden;
	add_to(&to->hidden_hits, from->hidden_hits);
	to->is_difference = to->is_difference || m->is_before || from->is_difference;
	merge_losses(to, from, m->is_before);
}

static struct profile *merge_sides(const struct profile_sides *sides, unsigned keep)
{
	cleanup(merger_fini) struct merger m = { .keep = keep, .sides = sides };
	/* Slices of several runs may overlap, or be in any order. */
	if (sides->n > 1 && !has_two_sides(&m))
		m.keep &= ~(unsigned)KEEP_SLICES;

	m.runs = xcalloc(2 * sides->n + 1, sizeof(*m.runs));
	for (size_t k = 0; k < sides->n; k++) {
		m.runs[k] = &sides->of[k]->about;
		m.runs[sides->n + k] = &sides->of[k]->about_before;
	}
	m.builder = profile_builder_new(sides->of[0]->n_values);

	struct profile *merged = profile_builder_profile(m.builder);

	for (size_t k = 0; k < sides->n; k++) {
		m.from = sides->of[k];
		m.is_before = k >= sides->n_after;
		merge_profile(&m);
		merge_sums(merged, &m);
	}
	for (size_t i = 0; i < merged->n_values; i++)
		merged->values[i] = keep_value(merged, &sides->of[0]->values[i]);
	merge_about(merged, &m);
	return profile_builder_finish(m.builder, &m.table);
}

struct profile *profile_merge(const struct profile *const *from, size_t n, unsigned keep)
{
	const struct profile_sides all = { .of = from, .n = n, .n_after = n };

	return merge_sides(&all, keep);
}

/* --- differences --- */

static bool has_comms(const struct profile *const *of, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < of[k]->n_stacks; i++)
			if (of[k]->stacks[i].comm)
				return true;
	return false;
}

__extension__ typedef __int128 wide;

/*
 * Scales numbers one after the other so that their sum is scaled exactly. Each is rounded, and the
 * next one takes over the rest.
 */
struct scale {
	int64_t to, from; /* sums */
	int64_t seen;     /* the sum of the numbers so far */
	wide given;       /* the sum of the scaled ones */
};

/* Nothing is scaled if a sum is not above 0. */
static int64_t scale_next(struct scale *s, int64_t number)
{
	if (s->to <= 0 || s->from <= 0)
		return number;
	add_to(&s->seen, number);

	const wide sum = ((wide)s->seen * s->to + s->from / 2) / s->from;
	const wide next = sum - s->given;

	s->given = sum;
	return next > INT64_MAX ? INT64_MAX : next < INT64_MIN ? INT64_MIN : (int64_t)next;
}

/* The values of number @i of a stack, after and before. */
static int64_t *difference_value_at(struct profile *p, size_t stack, size_t i)
{
	return i ? &p->numbers[2 * (p->n_values - 1) * stack + i - 1] : &p->stacks[stack].count;
}

static int64_t *value_before_of(struct profile *p, size_t stack, size_t i)
{
	return i ? difference_value_at(p, stack, i) + p->n_values - 1
		 : &p->stacks[stack].count_before;
}

static void normalize_value(struct profile *p, size_t value)
{
	struct scale scale = {};

	for (size_t i = 0; i < p->n_stacks; i++) {
		add_to(&scale.to, *difference_value_at(p, i, value));
		add_to(&scale.from, *value_before_of(p, i, value));
	}
	if (value == 0) { /* with hidden stacks */
		scale.to = p->total;
		scale.from = p->total_before;
	}
	for (size_t i = 0; i < p->n_stacks; i++)
		*value_before_of(p, i, value) = scale_next(&scale, *value_before_of(p, i, value));
	if (value == 0) {
		p->hidden_before = scale_next(&scale, p->hidden_before);
		p->total_before = scale.to > 0 && scale.from > 0 ? scale.to : scale.from;
	}
}

struct profile *profile_difference(const struct profile_sides *sides, unsigned keep, bool normalize)
{
	const size_t n_after = sides->n_after;

	if (!has_comms(sides->of, n_after) || !has_comms(sides->of + n_after, sides->n - n_after))
		keep &= ~(unsigned)KEEP_COMMS;

	struct profile *p = merge_sides(sides, keep | MERGE_BUILDS);

	p->is_normalized = p->is_normalized || normalize;
	for (size_t i = 0; i < p->n_values && normalize; i++)
		normalize_value(p, i);
	return p;
}
