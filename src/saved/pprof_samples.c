// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples to stacks of the builder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/pprof.h"
#include "saved/reader.h"

#define NO_SLICE UINT32_MAX
/* Of all samples together. A location may have many frames, so a small file may name billions. */
#define MOST_FRAMES ((size_t)1 << 28)

/* One sample. Its memory serves the next one. */
struct sample {
	uint32_t *frames;
	size_t n_frames, frame_capacity;
	uint32_t n_kernel;
	bool is_kernel_over; /* further frames are of user space */
	int64_t values[PROFILE_MOST_VALUES];
	size_t n_values;
	struct profile_label *labels;
	size_t n_labels, label_capacity;
	uint32_t pid;
	const char *comm;
	uint32_t slice;
	bool is_base;
};

/* All samples. */
struct samples {
	struct sample one;
	size_t n_stacks, n_sets; /* that memory was accounted for */
	size_t n_frames;
};

static void all_samples_fini(struct samples *s)
{
	free(s->one.frames);
	free(s->one.labels);
}

/* Kernel frames come first. A mark belongs to them if its location says so. */
static void end_of_kernel(const struct reader *r, struct sample *s, const struct location *location)
{
	const enum frame_kind kind =
		r->frames.frames[r->chains[location->first + location->n - 1]].kind;

	if (s->is_kernel_over)
		return;
	if (kind == FRAME_KERNEL || location->is_kernel_side)
		s->n_kernel = (uint32_t)s->n_frames;
	else
		s->is_kernel_over = kind == FRAME_USER || r->is_as_written;
}

static int take_location(struct reader *r, struct samples *all, uint64_t id, struct error *e)
{
	struct sample *s = &all->one;
	const int64_t row = ids_row(&r->location_ids, id);

	if (row < 0)
		return reader_refuse(r, e, "a sample names location %llu, which is not there",
				     (unsigned long long)id);

	const struct location *location = &r->locations[row];

	all->n_frames += location->n;
	if (all->n_frames > MOST_FRAMES)
		return error_set(e, -E2BIG, "%s: has more than %zu frames in its stacks", r->name,
				 MOST_FRAMES);
	for (uint32_t i = 0; i < location->n; i++)
		array_push(s->frames, s->n_frames, s->frame_capacity,
			   r->chains[location->first + i]);
	end_of_kernel(r, s, location);
	return 0;
}

static int take_locations(struct reader *r, struct samples *all, struct wire_field *field,
			  struct error *e)
{
	bool is_begun = false;
	uint64_t id;
	int more;

	while ((more = wire_next_number(field, &is_begun, &id)) > 0) {
		const int err = take_location(r, all, id, e);

		if (err)
			return err;
	}
	return more ? reader_refuse(r, e, "the locations of a sample are cut off") : 0;
}

/* Values may be below zero, and sums of them must fit. */
static int take_values(struct reader *r, struct sample *s, struct wire_field *field,
		       struct error *e)
{
	bool is_begun = false;
	uint64_t value;
	int more;

	while ((more = wire_next_number(field, &is_begun, &value)) > 0) {
		const int64_t number = (int64_t)value;
		uint64_t *sum = &r->sums[s->n_values];

		if (s->n_values == r->n_types)
			return reader_refuse(r, e, "a sample has more than its %zu values",
					     r->n_types);
		if (__builtin_add_overflow(*sum, number < 0 ? -value : value, sum) ||
		    *sum > INT64_MAX)
			return error_set(e, -E2BIG, "%s: its values add up to more than 2^63",
					 r->name);
		s->values[s->n_values++] = number;
	}
	return more ? reader_refuse(r, e, "the values of a sample are cut off") : 0;
}

/* Does the label say what struct profile_stack has a member for? */
static bool take_known_label(const struct reader *r, struct sample *s,
			     const struct profile_label *label)
{
	if (!label->text && strcmp(label->key, PPROF_LABEL_PID) == 0 && !s->pid &&
	    label->number > 0 && label->number <= UINT32_MAX)
		s->pid = (uint32_t)label->number;
	else if (label->text && strcmp(label->key, PPROF_LABEL_COMM) == 0 && !s->comm)
		s->comm = label->text;
	else if (!label->text && strcmp(label->key, PPROF_LABEL_SLICE) == 0 &&
		 s->slice == NO_SLICE && label->number >= 0 &&
		 (uint64_t)label->number < r->n_slices)
		s->slice = (uint32_t)label->number;
	else if (label->text && strcmp(label->key, PPROF_LABEL_BASE) == 0 &&
		 strcmp(label->text, "true") == 0)
		s->is_base = true;
	else
		return false;
	return true;
}

static int take_label(struct reader *r, struct sample *s, struct wire bytes, struct error *e)
{
	struct profile_label label = {};
	struct wire_field field;
	uint64_t key = 0, text = 0, unit = 0, is_text = 0;
	int more, err;

	while ((more = wire_next(&bytes, &field)) > 0) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STRING)
			text = field.value;
		else if (field.number == LABEL_NUMBER)
			label.number = (int64_t)field.value;
		else if (field.number == LABEL_UNIT)
			unit = field.value;
		else if (field.number == LABEL_IS_TEXT)
			is_text = field.value;
	}
	if (more)
		return reader_refuse(r, e, "a label is cut off");
	err = reader_text(r, key, &label.key, e);
	if (!err)
		err = reader_text(r, text, &label.text, e);
	if (!err)
		err = reader_text(r, unit, &label.unit, e);
	if (err)
		return err;
	if (!label.key)
		label.key = "";
	if (!label.text && (text || is_text))
		label.text = "";
	if (label.text) {
		label.number = 0;
		label.unit = NULL;
	}
	if (!take_known_label(r, s, &label))
		array_push(s->labels, s->n_labels, s->label_capacity, label);
	return 0;
}

static int read_sample(struct reader *r, struct samples *all, struct wire bytes, struct error *e)
{
	struct sample *s = &all->one;
	struct wire_field field;
	int more;

	s->n_frames = s->n_values = s->n_labels = 0;
	s->n_kernel = s->pid = 0;
	s->is_kernel_over = s->is_base = false;
	s->comm = NULL;
	s->slice = NO_SLICE;
	while ((more = wire_next(&bytes, &field)) > 0) {
		int err = 0;

		if (field.number == SAMPLE_LOCATION)
			err = take_locations(r, all, &field, e);
		else if (field.number == SAMPLE_VALUE)
			err = take_values(r, s, &field, e);
		else if (field.number == SAMPLE_LABEL && field.type == WIRE_BYTES)
			err = take_label(r, s, field.bytes, e);
		if (err)
			return err;
	}
	if (more)
		return reader_refuse(r, e, "a sample is cut off");
	if (s->n_values != r->n_types)
		return reader_refuse(r, e, "a sample has %zu values, and not %zu", s->n_values,
				     r->n_types);
	return 0;
}

/* The values in the order of the profile, after and before a change. */
static void order_values(const struct reader *r, const struct sample *s, int64_t *to)
{
	to[0] = s->values[r->first_type];
	for (size_t i = 0, n = 1; i < r->n_types; i++)
		if (i != r->first_type)
			to[n++] = s->values[i];
	for (size_t i = 0; s->is_base && i < r->n_types; i++)
		to[i] = -to[i];
}

static int add_sample(struct reader *r, struct samples *all, struct error *e)
{
	const struct sample *s = &all->one;
	int64_t values[PROFILE_MOST_VALUES];
	struct profile_stack stack = { .frames = s->frames,
				       .n_kernel = s->n_kernel,
				       .n_user = (uint32_t)s->n_frames - s->n_kernel,
				       .pid = s->pid,
				       .comm = s->comm };
	int err = 0;

	order_values(r, s, values);
	if (s->is_base) {
		stack.count_before = values[0];
		stack.more_before = r->n_types > 1 ? values + 1 : NULL;
		r->is_difference = true;
	} else {
		stack.count = values[0];
		stack.more = r->n_types > 1 ? values + 1 : NULL;
	}
	stack.labels = profile_builder_labels(r->builder, s->labels, s->n_labels);
	if (stack.labels > all->n_sets) {
		all->n_sets = stack.labels;
		err = reader_charge(r, (s->n_labels + 2) * sizeof(*s->labels), e);
	}

	const uint32_t number = profile_builder_add(r->builder, &stack);

	if (!err && number >= all->n_stacks) {
		all->n_stacks = (size_t)number + 1;
		err = reader_charge(
			r, (2 + r->n_types) * sizeof(stack) + s->n_frames * sizeof(*s->frames), e);
	}
	if (s->slice != NO_SLICE && !s->is_base) {
		profile_builder_part(r->builder, number, s->slice, values[0]);
		if (!err)
			err = reader_charge(r, 2 * sizeof(struct profile_part), e);
	}
	return err;
}

int reader_samples(struct reader *r, struct error *e)
{
	cleanup(all_samples_fini) struct samples all = {};
	struct wire file = r->file;
	struct wire_field field;

	while (wire_next(&file, &field) > 0) {
		if (field.number != PPROF_SAMPLE)
			continue;

		int err = read_sample(r, &all, field.bytes, e);

		if (!err)
			err = add_sample(r, &all, e);
		if (err)
			return err;
	}
	return 0;
}
