// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "saved/pprof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/pprof.h"
#include "saved/reader.h"

/* For tables and stacks, above the file itself. 200,000 stacks of ours take 40 MiB. */
#define MOST_MEMORY ((size_t)1 << 30)

int reader_refuse(const struct reader *r, struct error *e, const char *format, ...)
{
	char reason[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return error_set(e, -EBADMSG, "%s: no pprof file, or damaged: %s", r->name, reason);
}

int reader_charge(struct reader *r, size_t bytes, struct error *e)
{
	if (bytes > r->memory)
		return error_set(e, -E2BIG, "%s: needs more than %zu MiB of memory", r->name,
				 MOST_MEMORY >> 20);
	r->memory -= bytes;
	return 0;
}

int reader_text(struct reader *r, uint64_t number, const char **ret, struct error *e)
{
	*ret = NULL;
	if (number >= r->n_texts && number)
		return reader_refuse(r, e, "it has %zu strings, and names number %llu", r->n_texts,
				     (unsigned long long)number);
	if (number == 0 || r->texts[number].n == 0)
		return 0;

	struct text *text = &r->texts[number];

	if (!text->kept) {
		const int err = reader_charge(r, text->n + 32, e);

		if (err)
			return err;
		text->kept = strtab_add_n(r->strings, (const char *)text->bytes, text->n);
	}
	*ret = text->kept;
	return 0;
}

int ids_add(struct reader *r, struct ids *ids, uint64_t id, struct error *e)
{
	const int err = reader_charge(r, 2 * sizeof(*ids->of), e);

	if (err)
		return err;
	ids->is_odd |= id != ids->n + 1;

	const struct id last = { id, (uint32_t)ids->n };

	array_push(ids->of, ids->n, ids->capacity, last);
	return 0;
}

static int compare_pprof_ids(const void *left, const void *right)
{
	const struct id *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

int ids_finish(const struct reader *r, struct ids *ids, const char *what, struct error *e)
{
	if (!ids->is_odd)
		return 0;
	qsort(ids->of, ids->n, sizeof(*ids->of), compare_pprof_ids);
	for (size_t i = 0; i < ids->n; i++) {
		if (ids->of[i].id == 0)
			return reader_refuse(r, e, "a %s has the id 0", what);
		if (i && ids->of[i - 1].id == ids->of[i].id)
			return reader_refuse(r, e, "two %ss have the id %llu", what,
					     (unsigned long long)ids->of[i].id);
	}
	return 0;
}

static bool read_value_type(struct wire bytes, struct value_type *ret)
{
	struct wire_field field;
	int more;

	while ((more = wire_next(&bytes, &field)) > 0) {
		if (field.number == TYPE_NAME)
			ret->name = field.value;
		else if (field.number == TYPE_UNIT)
			ret->unit = field.value;
	}
	return more == 0;
}

static int take_sample_type(struct reader *r, struct wire bytes, struct error *e)
{
	if (r->n_types == PROFILE_MOST_VALUES)
		return error_set(e, -E2BIG, "%s: has more than %d values for each stack", r->name,
				 PROFILE_MOST_VALUES);
	if (!read_value_type(bytes, &r->types[r->n_types++]))
		return reader_refuse(r, e, "a sample type is cut off");
	return 0;
}

static int take_period_type(struct reader *r, struct wire bytes, struct error *e)
{
	if (!read_value_type(bytes, &r->period_type))
		return reader_refuse(r, e, "the period's type is cut off");
	return 0;
}

static int take_comments(struct reader *r, struct wire_field *field, struct error *e)
{
	bool is_begun = false;
	uint64_t number;
	int more;

	while ((more = wire_next_number(field, &is_begun, &number)) > 0) {
		const int err = reader_charge(r, 2 * sizeof(number), e);

		if (err)
			return err;
		array_push(r->comments, r->n_comments, r->comment_capacity, number);
	}
	return more ? reader_refuse(r, e, "its comments are cut off") : 0;
}

static int take_profile_number(struct reader *r, const struct wire_field *field)
{
	if (field->number == PPROF_TIME_NS && (int64_t)field->value > 0)
		r->time_ns = field->value;
	else if (field->number == PPROF_DURATION_NS && (int64_t)field->value > 0)
		r->duration_ns = field->value;
	else if (field->number == PPROF_PERIOD && (int64_t)field->value > 0)
		r->period = (int64_t)field->value;
	else if (field->number == PPROF_DEFAULT_TYPE)
		r->default_type = field->value;
	else if (field->number == PPROF_AS_WRITTEN)
		r->is_as_written = field->value == 1;
	return 0;
}

/* Note where the row of a table is. */
static int take_table_row(struct reader *r, const struct wire_field *field, struct error *e)
{
	const struct wire bytes = field->bytes;
	const int err = reader_charge(r, 2 * sizeof(struct text), e);

	if (err)
		return err;
	if (field->number == PPROF_STRING)
		array_push(r->texts, r->n_texts, r->text_capacity,
			   ((struct text){ bytes.at, wire_n(&bytes), NULL }));
	else if (field->number == PPROF_MAPPING)
		array_push(r->mapping_bytes, r->n_mapping_bytes, r->mapping_bytes_capacity, bytes);
	else if (field->number == PPROF_FUNCTION)
		array_push(r->function_bytes, r->n_function_bytes, r->function_bytes_capacity,
			   bytes);
	else
		array_push(r->locations, r->n_locations, r->location_capacity,
			   (struct location){ .bytes = bytes });
	return 0;
}

static bool is_message(unsigned number)
{
	return number <= PPROF_STRING || number == PPROF_PERIOD_TYPE;
}

static int take_profile_field(struct reader *r, struct wire_field *field, struct error *e)
{
	if (is_message(field->number) && field->type != WIRE_BYTES)
		return reader_refuse(r, e, "field %u has wire type %u", field->number, field->type);
	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
		return take_sample_type(r, field->bytes, e);
	case PPROF_PERIOD_TYPE:
		return take_period_type(r, field->bytes, e);
	case PPROF_MAPPING:
	case PPROF_LOCATION:
	case PPROF_FUNCTION:
	case PPROF_STRING:
		return take_table_row(r, field, e);
	case PPROF_COMMENT:
		return take_comments(r, field, e);
	default:
		return take_profile_number(r, field);
	}
}

/* The first pass. */
static int find_pprof_tables(struct reader *r, struct error *e)
{
	struct wire file = r->file;
	struct wire_field field;
	int more;

	while ((more = wire_next(&file, &field)) > 0) {
		const int err = take_profile_field(r, &field, e);

		if (err)
			return err;
	}
	if (more)
		return reader_refuse(r, e, "it is cut off, or no protobuf, at byte %zu",
				     wire_n(&r->file) - wire_n(&file));
	if (r->n_types == 0)
		return error_set(e, -ENOEXEC, "%s: no pprof file: it has no values", r->name);
	if (r->n_texts && r->texts[0].n)
		return reader_refuse(r, e, "its first string is not empty");
	return 0;
}

/* The type that the file calls its default comes first; without one the last, as in profile.proto.
 */
static void choose_first_type(struct reader *r)
{
	r->first_type = r->n_types ? r->n_types - 1 : 0;
	for (size_t i = 0; i < r->n_types && r->default_type; i++)
		if (r->types[i].name == r->default_type) {
			r->first_type = i;
			return;
		}
}

/* @ret lent by @r; texts that are empty are NULL. */
static int find_value_type(struct reader *r, const struct value_type *type,
			   struct profile_value *ret, struct error *e)
{
	const int err = reader_text(r, type->name, &ret->name, e);

	return err ? err : reader_text(r, type->unit, &ret->unit, e);
}

static int set_values(struct reader *r, struct profile *p, struct error *e)
{
	for (size_t i = 0, to = 1; i < r->n_types; i++) {
		struct profile_value *value = &p->values[i == r->first_type ? 0 : to++];
		struct profile_value lent;
		const int err = find_value_type(r, &r->types[i], &lent, e);

		if (err)
			return err;
		value->name = strtab_add(p->strings, lent.name ? lent.name : "");
		value->unit = strtab_add(p->strings, lent.unit ? lent.unit : "");
	}
	return 0;
}

static int set_period(struct reader *r, struct profile *p, struct error *e)
{
	struct profile_value lent;
	const int err = find_value_type(r, &r->period_type, &lent, e);

	if (err)
		return err;
	p->about.period_type.name = strtab_add_or_null(p->strings, lent.name);
	p->about.period_type.unit = strtab_add_or_null(p->strings, lent.unit);
	p->about.period = r->period;
	return 0;
}

/* @lent with texts of its own. */
static struct profile_about own_about(struct strtab *strings, const struct profile_about *lent)
{
	struct profile_about about = *lent;

	about.program = strtab_add_or_null(strings, lent->program);
	about.command_line = strtab_add_or_null(strings, lent->command_line);
	about.host = strtab_add_or_null(strings, lent->host);
	about.kernel = strtab_add_or_null(strings, lent->kernel);
	return about;
}

static int set_rest_of_profile(struct reader *r, struct profile *p, struct error *e)
{
	p->about = own_about(p->strings, &r->about);
	p->about.begin_ns = r->time_ns;
	p->about.duration_ns = r->duration_ns;
	p->hidden = r->hidden;
	p->n_hidden = r->n_hidden;
	p->is_difference = p->is_difference || r->is_difference;
	if (p->is_difference) {
		p->about_before = own_about(p->strings, &r->about_before);
		p->is_normalized = r->is_normalized;
	}
	if (__builtin_add_overflow(p->total, r->hidden, &p->total))
		return reader_refuse(r, e, "its hidden count does not fit into 64 bits");
	return reader_losses(r, p, e);
}

static int read_tables(struct reader *r, struct error *e)
{
	int err = find_pprof_tables(r, e);

	if (!err)
		err = reader_mappings(r, e);
	if (!err)
		err = reader_functions(r, e);
	choose_first_type(r);
	r->builder = profile_builder_new(r->n_types ? r->n_types : 1);
	if (!err)
		err = reader_comments(r, e);
	if (!err)
		err = reader_images(r, e);
	if (!err)
		err = reader_locations(r, e);
	return err;
}

static void reader_fini(struct reader *r)
{
	strtab_free(r->strings);
	free(r->texts);
	free(r->mapping_bytes);
	free(r->function_bytes);
	free(r->mappings);
	free(r->functions);
	free(r->locations);
	free(r->mapping_ids.of);
	free(r->function_ids.of);
	free(r->location_ids.of);
	free(r->chains);
	free(r->frames.frames);
	free(r->frames.images);
	free(r->comments);
	profile_builder_free(r->builder);
}

int pprof_read(const void *bytes, size_t n, const char *name, struct profile **ret, struct error *e)
{
	cleanup(reader_fini) struct reader r = { .name = name,
						 .file = { bytes, (const uint8_t *)bytes + n },
						 .memory = MOST_MEMORY,
						 .strings = strtab_new() };
	int err = read_tables(&r, e);

	if (!err)
		err = reader_samples(&r, e);
	if (err)
		return err;

	cleanup(profile_freep) struct profile *p = profile_builder_finish(r.builder, &r.frames);

	err = set_values(&r, p, e);
	if (!err)
		err = set_rest_of_profile(&r, p, e);
	if (!err)
		err = set_period(&r, p, e);
	if (err)
		return err;
	*ret = TAKE(p);
	return 0;
}
