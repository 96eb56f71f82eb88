// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Comments of ours, "stackcount:KEY=VALUE". Others are text for people. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/pprof.h"
#include "saved/reader.h"

/* Read a number in decimal at *@at, and what follows it, and move *@at past both. */
static bool take_count(const char **at, char behind, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	if (errno || *end != behind)
		return false;
	*at = end + (behind != '\0');
	return true;
}

static bool read_version(struct reader *r, const char *value)
{
	r->has_version = strcmp(value, "1") == 0;
	return r->has_version;
}

static bool read_program(struct reader *r, const char *value)
{
	r->about.program = value;
	return true;
}

static bool read_command(struct reader *r, const char *value)
{
	r->about.command_line = value;
	return true;
}

static bool read_host(struct reader *r, const char *value)
{
	r->about.host = value;
	return true;
}

static bool read_kernel_release(struct reader *r, const char *value)
{
	r->about.kernel = value;
	return true;
}

static bool read_cost(struct reader *r, const char *value)
{
	char *end;

	r->about.cost_ns = strtod(value, &end);
	return *end == '\0' && r->about.cost_ns > 0 && r->about.cost_ns < 1e18;
}

/* A loss needs a profile: see reader_losses(). */
static bool read_loss(struct reader *r, const char *value)
{
	uint64_t n;

	(void)r;
	return take_count(&value, ' ', &n) && n;
}

static bool read_hidden(struct reader *r, const char *value)
{
	const bool is_negative = *value == '-';
	uint64_t count, n;

	value += is_negative;
	if (!take_count(&value, ' ', &count) || !take_count(&value, '\0', &n) || count > INT64_MAX)
		return false;
	r->hidden = is_negative ? -(int64_t)count : (int64_t)count;
	r->n_hidden = n;
	return true;
}

static bool read_slice(struct reader *r, const char *value)
{
	uint64_t begin, end;

	if (!take_count(&value, ' ', &begin) || !take_count(&value, '\0', &end) || end < begin)
		return false;
	r->n_slices = (size_t)profile_builder_slice(r->builder, begin, end) + 1;
	return true;
}

static bool read_difference(struct reader *r, const char *value)
{
	r->is_difference = strcmp(value, "1") == 0;
	return r->is_difference;
}

static bool read_normalized(struct reader *r, const char *value)
{
	r->is_normalized = strcmp(value, "1") == 0;
	return r->is_normalized;
}

static bool read_program_before(struct reader *r, const char *value)
{
	r->about_before.program = value;
	return true;
}

static bool read_command_before(struct reader *r, const char *value)
{
	r->about_before.command_line = value;
	return true;
}

static bool read_host_before(struct reader *r, const char *value)
{
	r->about_before.host = value;
	return true;
}

static bool read_kernel_before(struct reader *r, const char *value)
{
	r->about_before.kernel = value;
	return true;
}

static bool read_begin_before(struct reader *r, const char *value)
{
	return take_count(&value, '\0', &r->about_before.begin_ns);
}

static bool read_duration_before(struct reader *r, const char *value)
{
	return take_count(&value, '\0', &r->about_before.duration_ns);
}

static void set_kernel(struct mapping *m)
{
	m->is_kernel = true;
}

static void set_go(struct mapping *m)
{
	m->code = CODE_GO;
}

static void set_jit(struct mapping *m)
{
	m->code = CODE_JIT;
}

static void set_no_image(struct mapping *m)
{
	m->has_no_image = true;
}

/* "3,5". Another program that writes the file anew gives mappings other numbers. */
static bool read_mapping_numbers(struct reader *r, const char *value,
				 void (*set)(struct mapping *m))
{
	for (bool is_last = false; !is_last;) {
		uint64_t id;

		is_last = !strchr(value, ',');
		if (!take_count(&value, is_last ? '\0' : ',', &id))
			return false;
		if (!r->is_as_written)
			continue;

		const int64_t row = ids_row(&r->mapping_ids, id);

		if (row < 0)
			return false;
		set(&r->mappings[row]);
	}
	return true;
}

static const struct key {
	const char *name;
	bool (*read)(struct reader *r, const char *value);
	void (*set)(struct mapping *m); /* instead: of mappings */
} keys[] = {
	{ .name = "version", .read = read_version },
	{ .name = "program", .read = read_program },
	{ .name = "command", .read = read_command },
	{ .name = "host", .read = read_host },
	{ .name = "kernel", .read = read_kernel_release },
	{ .name = "cost_ns", .read = read_cost },
	{ .name = "loss", .read = read_loss },
	{ .name = "hidden", .read = read_hidden },
	{ .name = "slice", .read = read_slice },
	{ .name = "difference", .read = read_difference },
	{ .name = "normalized", .read = read_normalized },
	{ .name = "before-program", .read = read_program_before },
	{ .name = "before-command", .read = read_command_before },
	{ .name = "before-host", .read = read_host_before },
	{ .name = "before-kernel", .read = read_kernel_before },
	{ .name = "before-begin_ns", .read = read_begin_before },
	{ .name = "before-duration_ns", .read = read_duration_before },
	{ .name = "kernel-maps", .set = set_kernel },
	{ .name = "go", .set = set_go },
	{ .name = "jit", .set = set_jit },
	{ .name = "no-image", .set = set_no_image },
	{ .name = NULL },
};

/* The key of comment @text, and its value. NULL: a comment for people, or of a later version. */
static const struct key *find_comment_key(const char *text, const char **value)
{
	if (!text || strncmp(text, PPROF_COMMENT_PREFIX, strlen(PPROF_COMMENT_PREFIX)) != 0)
		return NULL;
	text += strlen(PPROF_COMMENT_PREFIX);
	for (const struct key *key = keys; key->name; key++) {
		const size_t n = strlen(key->name);

		if (strncmp(text, key->name, n) == 0 && text[n] == '=') {
			*value = text + n + 1;
			return key;
		}
	}
	return NULL;
}

int reader_comments(struct reader *r, struct error *e)
{
	for (size_t i = 0; i < r->n_comments; i++) {
		const char *text, *value;
		int err = reader_text(r, r->comments[i], &text, e);

		if (!err)
			err = reader_charge(r, 2 * sizeof(struct profile_slice), e);
		if (err)
			return err;

		const struct key *key = find_comment_key(text, &value);

		if (key &&
		    !(key->set ? read_mapping_numbers(r, value, key->set) : key->read(r, value)))
			return reader_refuse(r, e, "the value of its comment %s%s makes no sense",
					     PPROF_COMMENT_PREFIX, key->name);
	}
	return 0;
}

int reader_losses(struct reader *r, struct profile *p, struct error *e)
{
	for (size_t i = 0; i < r->n_comments; i++) {
		const char *text, *value;
		const int err = reader_text(r, r->comments[i], &text, e);

		if (err)
			return err;

		const struct key *key = find_comment_key(text, &value);
		uint64_t n;

		if (key && key->read == read_loss && take_count(&value, ' ', &n))
			profile_add_loss(p, value, n);
	}
	return 0;
}
