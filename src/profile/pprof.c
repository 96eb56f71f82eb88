// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Comments of pprof files, written and read by one table, and the reader of these files.
 *
 * Tables of the file may be in any order, and its strings come last. So the first pass keeps the
 * rows of tables. Then come comments, locations and samples, in further passes. The first failure
 * stays in the reader, and all after it do nothing.
 */
#include "profile/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"

enum fact_kind { FACT_TEXT, FACT_NUMBER, FACT_FLAG, FACT_COST };

static const struct fact {
	const char *key;
	enum fact_kind kind;
	size_t at; /* in struct profile */
} facts[] = {
	{ "program", FACT_TEXT, offsetof(struct profile, about.program) },
	{ "command", FACT_TEXT, offsetof(struct profile, about.command_line) },
	{ "host", FACT_TEXT, offsetof(struct profile, about.host) },
	{ "kernel", FACT_TEXT, offsetof(struct profile, about.kernel) },
	{ "cost_ns", FACT_COST, offsetof(struct profile, about.cost_ns) },
	{ "difference", FACT_FLAG, offsetof(struct profile, is_difference) },
	{ "normalized", FACT_FLAG, offsetof(struct profile, is_normalized) },
	{ "before-program", FACT_TEXT, offsetof(struct profile, about_before.program) },
	{ "before-command", FACT_TEXT, offsetof(struct profile, about_before.command_line) },
	{ "before-host", FACT_TEXT, offsetof(struct profile, about_before.host) },
	{ "before-kernel", FACT_TEXT, offsetof(struct profile, about_before.kernel) },
	{ "before-begin_ns", FACT_NUMBER, offsetof(struct profile, about_before.begin_ns) },
	{ "before-duration_ns", FACT_NUMBER, offsetof(struct profile, about_before.duration_ns) },
};

/* Append the value at @at, or nothing if it is not known. */
static void put_fact(const struct fact *fact, const void *at, struct strbuf *to)
{
	const char *text = fact->kind == FACT_TEXT ? *(const char *const *)at : NULL;

	if (text)
		strbuf_puts(to, text);
	if (fact->kind == FACT_NUMBER && *(const uint64_t *)at)
		strbuf_printf(to, "%" PRIu64, *(const uint64_t *)at);
	if (fact->kind == FACT_FLAG && *(const bool *)at)
		strbuf_puts(to, "1");
	if (fact->kind == FACT_COST && *(const double *)at > 0)
		strbuf_printf(to, "%.17g", *(const double *)at);
}

void pprof_put_comments(const struct profile *p, void (*put)(void *context, const char *text),
			void *context)
{
	cleanup_strbuf struct strbuf text = {};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "%s=", facts[i].key);

		const size_t n = text.n;

		put_fact(&facts[i], (const char *)p + facts[i].at, &text);
		if (text.n > n)
			put(context, text.text);
	}
	for (size_t i = 0; i < p->n_losses; i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "loss=%" PRIu64 " %s", p->losses[i].n,
			      p->losses[i].reason);
		put(context, text.text);
	}
	if (p->hidden || p->n_hidden) {
		strbuf_clear(&text);
		strbuf_printf(&text, PPROF_COMMENT_PREFIX "hidden=%" PRId64 " %zu", p->hidden,
			      p->n_hidden);
		put(context, text.text);
	}
	strbuf_clear(&text); /* all slices in one: pprof shows comments above each report */
	for (size_t i = 0; i < p->n_slices; i++)
		strbuf_printf(&text, "%s%" PRIu64 " %" PRIu64,
			      i ? " " : PPROF_COMMENT_PREFIX "slice=", p->slices[i].begin_ns,
			      p->slices[i].end_ns);
	if (p->n_slices)
		put(context, text.text);
}

/* The value of comment @text. NULL: it has another key. */
static const char *comment_value(const char *text, const char *key)
{
	const size_t n = strlen(key);

	if (!text_begins_with(text, PPROF_COMMENT_PREFIX))
		return NULL;
	text += strlen(PPROF_COMMENT_PREFIX);
	return strncmp(text, key, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

static void take_fact(struct profile *p, const struct fact *fact, const char *value)
{
	void *to = (char *)p + fact->at;
	double cost;

	switch (fact->kind) {
	case FACT_TEXT:
		*(const char **)to = strtab_add(p->strings, value);
		break;
	case FACT_NUMBER:
		*(uint64_t *)to = strtoull(value, NULL, 10);
		break;
	case FACT_FLAG:
		*(bool *)to = true;
		break;
	case FACT_COST:
		cost = strtod(value, NULL);
		*(double *)to = cost > 0 && cost < 1e18 ? cost : 0;
	}
}

/* --- fields of messages --- */

void proto_varint(struct strbuf *m, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	strbuf_put(m, bytes, n);
}

void proto_any_number(struct strbuf *m, unsigned field, uint64_t value)
{
	proto_varint(m, field << 3 | WIRE_VARINT);
	proto_varint(m, value);
}

void proto_number(struct strbuf *m, unsigned field, uint64_t value)
{
	if (value)
		proto_any_number(m, field, value);
}

void proto_bytes(struct strbuf *m, unsigned field, const void *bytes, size_t n)
{
	proto_varint(m, field << 3 | WIRE_BYTES);
	proto_varint(m, n);
	if (n)
		strbuf_put(m, bytes, n);
}

/* --- protobuf --- */

/* Bytes that are not read yet. */
struct wire {
	const uint8_t *at, *end;
};

struct wire_field {
	unsigned number;
	unsigned type;
	uint64_t value;    /* of WIRE_VARINT, else 0 */
	struct wire bytes; /* of these, as those of a single packed number; of WIRE_BYTES */
};

static inline size_t wire_n(const struct wire *w)
{
	return (size_t)(w->end - w->at);
}

#define MOST_FIELD ((1U << 29) - 1)

static bool take_varint(struct wire *w, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && w->at < w->end; shift += 7) {
		const uint8_t byte = *w->at++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool take_bytes(struct wire *w, uint64_t n, struct wire *ret)
{
	if (n > wire_n(w))
		return false;
	*ret = (struct wire){ w->at, w->at + n };
	w->at += n;
	return true;
}

/*
 * Read the next field of a message. Returns 1, 0 at the end, or -1 if it is damaged. profile.proto
 * has no numbers of fixed size, and no groups.
 */
static int wire_next(struct wire *w, struct wire_field *ret)
{
	struct wire skipped;
	uint64_t tag, n;
	bool is_whole;

	if (w->at == w->end)
		return 0;
	if (!take_varint(w, &tag) || tag >> 3 == 0 || tag >> 3 > MOST_FIELD)
		return -1;
	*ret = (struct wire_field){ .number = (unsigned)(tag >> 3),
				    .type = tag & 7,
				    .bytes = { w->at, w->at } };
	switch (ret->type) {
	case WIRE_VARINT:
		is_whole = take_varint(w, &ret->value);
		ret->bytes.end = w->at;
		break;
	case WIRE_BYTES:
		is_whole = take_varint(w, &n) && take_bytes(w, n, &ret->bytes);
		break;
	default:
		is_whole = (ret->type == WIRE_FIXED64 && take_bytes(w, 8, &skipped)) ||
			   (ret->type == WIRE_FIXED32 && take_bytes(w, 4, &skipped));
	}
	return is_whole ? 1 : -1;
}

/* --- the reader --- */

/* For tables and stacks, above the file itself. 200,000 stacks of ours take 40 MiB. */
#define MOST_MEMORY ((size_t)1 << 30)

/* Of all samples together. A location may have many frames, so a small file may name billions. */
#define MOST_FRAMES ((size_t)1 << 28)

/* Addresses of user space are below. */
#define KERNEL_HALF (1ULL << 63)

#define NO_SLICE UINT32_MAX

/* A mapping, a function or a location. */
struct row {
	uint64_t of[7]; /* the fields that are numbers; number 1 is the id */
	struct wire bytes;
	uint32_t first, n; /* of a location: its frames */
	bool is_kernel;    /* of a location */
};

struct table {
	const char *what;
	struct row *rows;
	size_t n, capacity;
	struct u64_map numbers; /* of rows, by id */
};

struct reader {
	const char *name; /* of the file, for messages */
	struct error *e;
	int err;
	struct wire file;
	size_t memory; /* bytes that it may still take */
	struct strtab *strings;
	const char **texts; /* NULL: an empty one */
	size_t n_texts, text_capacity;
	uint64_t types[PROFILE_MOST_VALUES][3], period_type[3]; /* fields: numbers of texts */
	size_t n_types;
	size_t first_type;                        /* this one becomes the first value */
	uint64_t numbers[PPROF_DEFAULT_TYPE + 1]; /* fields of the profile */
	size_t n_slices;
	struct table mappings, functions, locations;
	struct frame_table frames;
	struct profile_builder *builder;
	/* Of all samples: */
	uint64_t sums[PROFILE_MOST_VALUES]; /* of values without their signs */
	size_t n_frames, n_stacks;          /* of stacks, those with memory */
	/* Of one sample, with memory for the next one: */
	uint32_t *row;
	size_t n_row, row_capacity;
	uint32_t slice;
	bool is_base; /* its values are negative, and those before a change */
};

printf_like(3, 4) static void fail(struct reader *r, int code, const char *format, ...)
{
	char reason[256];
	va_list args;

	if (r->err)
		return;
	va_start(args, format);
	(void)vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	r->err = error_set(r->e, code, "%s: %s%s", r->name,
			   code == -EBADMSG ? "no pprof file, or damaged: " : "", reason);
}

/* Account for memory before it is taken. */
static void charge(struct reader *r, size_t bytes)
{
	if (bytes > r->memory)
		fail(r, -E2BIG, "needs more than %zu MiB of memory", MOST_MEMORY >> 20);
	r->memory -= bytes < r->memory ? bytes : r->memory;
}

static bool next_field(struct reader *r, struct wire *w, struct wire_field *field, const char *what)
{
	const int more = r->err ? 0 : wire_next(w, field);

	if (more < 0)
		fail(r, -EBADMSG, "a %s is cut off", what);
	return more > 0;
}

/* Read the next number of a repeated field, packed or not. */
static bool next_number(struct reader *r, struct wire_field *field, uint64_t *ret, const char *what)
{
	if (field->type != WIRE_VARINT && field->type != WIRE_BYTES)
		fail(r, -EBADMSG, "%s are cut off", what);
	if (r->err || field->bytes.at == field->bytes.end)
		return false;
	if (take_varint(&field->bytes, ret))
		return true;
	fail(r, -EBADMSG, "%s are cut off", what);
	return false;
}

/* Read the fields that are numbers: field i to @ret[i], if i is below @n. Others stay. */
static void read_numbers(struct reader *r, const struct wire_field *field, uint64_t *ret,
			 unsigned n, const char *what)
{
	struct wire message = field->bytes;
	struct wire_field inner;

	while (next_field(r, &message, &inner, what))
		if (inner.number < n)
			ret[inner.number] = inner.value;
}

/* Text @number, lent by @r. NULL if it is empty. */
static const char *text_at(struct reader *r, uint64_t number)
{
	if (number >= r->n_texts && number)
		fail(r, -EBADMSG, "it has %zu strings, and names number %llu", r->n_texts,
		     (unsigned long long)number);
	return r->err || number == 0 ? NULL : r->texts[number];
}

/* --- the first pass --- */

static void take_row(struct reader *r, struct table *t, const struct wire_field *field)
{
	struct row row = { .bytes = field->bytes };
	bool is_new;

	charge(r, 2 * sizeof(row) + 4 * sizeof(*t->numbers.slots));
	read_numbers(r, field, row.of, ARRAY_SIZE(row.of), t->what);
	if (!row.of[1])
		fail(r, -EBADMSG, "a %s has the id 0", t->what);
	if (r->err)
		return;
	(void)u64_map_put(&t->numbers, row.of[1], (uint32_t)t->n, &is_new);
	if (!is_new)
		fail(r, -EBADMSG, "two %ss have the id %llu", t->what,
		     (unsigned long long)row.of[1]);
	array_push(t->rows, t->n, t->capacity, row);
}

/* NULL: there is none. Ids of ours are 1, 2, 3, ... */
static struct row *row_of_id(const struct table *t, uint64_t id)
{
	if (id - 1 < t->n && t->rows[id - 1].of[1] == id)
		return &t->rows[id - 1];

	const uint32_t *number = u64_map_get(&t->numbers, id);

	return number ? &t->rows[*number] : NULL;
}

static void take_text(struct reader *r, const struct wire *bytes)
{
	const size_t n = wire_n(bytes);
	const char *text = NULL;

	charge(r, n + 48);
	if (n && !r->err)
		text = strtab_add_n(r->strings, (const char *)bytes->at, n);
	array_push(r->texts, r->n_texts, r->text_capacity, text);
}

static void take_profile_field(struct reader *r, struct wire_field *field)
{
	if ((field->number <= PPROF_STRING || field->number == PPROF_PERIOD_TYPE) &&
	    field->type != WIRE_BYTES)
		return fail(r, -EBADMSG, "field %u has wire type %u", field->number, field->type);
	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
		if (r->n_types == PROFILE_MOST_VALUES)
			return fail(r, -E2BIG, "has more than %d values for each stack",
				    PROFILE_MOST_VALUES);
		return read_numbers(r, field, r->types[r->n_types++], ARRAY_SIZE(*r->types),
				    "sample type");
	case PPROF_PERIOD_TYPE:
		return read_numbers(r, field, r->period_type, ARRAY_SIZE(r->period_type),
				    "period's type");
	case PPROF_MAPPING:
		return take_row(r, &r->mappings, field);
	case PPROF_LOCATION:
		return take_row(r, &r->locations, field);
	case PPROF_FUNCTION:
		return take_row(r, &r->functions, field);
	case PPROF_STRING:
		return take_text(r, &field->bytes);
	default:
		if (field->number < ARRAY_SIZE(r->numbers) && (int64_t)field->value > 0)
			r->numbers[field->number] = field->value;
	}
}

static void read_tables(struct reader *r)
{
	struct wire file = r->file;
	struct wire_field field;
	int more = 0;

	while (!r->err && (more = wire_next(&file, &field)) > 0)
		take_profile_field(r, &field);
	if (more < 0)
		fail(r, -EBADMSG, "it is cut off, or no protobuf, at byte %zu",
		     wire_n(&r->file) - wire_n(&file));
	if (r->n_types == 0)
		fail(r, -ENOEXEC, "no pprof file: it has no values");
	if (r->n_texts && r->texts[0])
		fail(r, -EBADMSG, "its first string is not empty");

	/* The file's default comes first; without one the last, as in profile.proto. */
	const uint64_t default_type = r->numbers[PPROF_DEFAULT_TYPE];

	r->first_type = r->n_types ? r->n_types - 1 : 0;
	for (size_t i = r->n_types; i-- > 0 && default_type;)
		if (r->types[i][TYPE_NAME] == default_type)
			r->first_type = i;
}

/* --- comments --- */

/* Up to a slice that makes no sense. */
static void take_slices(struct reader *r, const char *at)
{
	while (*at && !r->err) {
		char *end;
		const uint64_t begin = strtoull(at, &end, 10), stop = strtoull(end, &end, 10);

		if (end == at || stop < begin)
			return;
		charge(r, 2 * sizeof(struct profile_slice));
		r->n_slices = (size_t)profile_builder_slice(r->builder, begin, stop) + 1;
		at = end;
	}
}

/* Comments with other keys say nothing. */
static void take_comment(struct reader *r, const char *text)
{
	struct profile *p = profile_builder_profile(r->builder);
	const char *value;
	char *end;

	if ((value = comment_value(text, "slice")))
		return take_slices(r, value);
	if ((value = comment_value(text, "loss"))) {
		const uint64_t n = strtoull(value, &end, 10);

		return profile_add_loss(p, *end ? end + 1 : end, n);
	}
	if ((value = comment_value(text, "hidden"))) {
		p->hidden = strtoll(value, &end, 10);
		p->n_hidden = strtoull(end, NULL, 10);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if ((value = comment_value(text, facts[i].key)))
			take_fact(p, &facts[i], value);
}

/* They are about samples, too. */
static void read_comments(struct reader *r)
{
	struct wire file = r->file;
	struct wire_field field;
	uint64_t number;

	while (!r->err && wire_next(&file, &field) > 0)
		while (field.number == PPROF_COMMENT &&
		       next_number(r, &field, &number, "its comments")) {
			const char *text = text_at(r, number);

			charge(r, text ? strlen(text) + sizeof(struct profile_loss) : 0);
			if (text && !r->err)
				take_comment(r, text);
		}
}

/* --- frames --- */

/* The mapping's file may say it, else the address. */
static bool is_of_kernel(const char *path, uint64_t address)
{
	return text_begins_with(path, "[kernel") ||
	       (address >= KERNEL_HALF && !text_begins_with(path, "[vsyscall]"));
}

/* Is it the name of a perf map, or of memory that no file backs? */
static bool is_of_jit(const char *path)
{
	const char *name = path ? pprof_module(path) : NULL;
	int n = 0;

	if (!path || text_is_same(path, "[vdso]") || text_is_same(path, "[vsyscall]"))
		return false;
	return path[0] == '[' || (sscanf(name, "perf-%*u.map%n", &n) == 0 && n && !name[n]);
}

/* Frame number @mapping of images is that of row @mapping. */
static void read_images(struct reader *r)
{
	for (size_t i = 0; i < r->mappings.n && !r->err; i++) {
		const uint64_t *of = r->mappings.rows[i].of;
		struct frame_image image = { .path = text_at(r, of[MAPPING_FILE]),
					     .build_id = text_at(r, of[MAPPING_BUILD_ID]),
					     .start = of[MAPPING_START],
					     .limit = of[MAPPING_LIMIT],
					     .offset = of[MAPPING_OFFSET] };

		if (text_is_same(image.path, PPROF_KERNEL))
			image.path = "[kernel]";
		charge(r, 2 * sizeof(image));
		array_push(r->frames.images, r->frames.n_images, r->frames.image_capacity, image);
	}
}

static const char *module_of_mapping(struct reader *r, const char *path, bool is_kernel)
{
	if (!path || (is_kernel && strcmp(path, "[kernel]") == 0))
		return NULL;

	const char *module = pprof_module(path);
	const size_t n = strlen(module);

	return is_kernel && n > 2 && module[0] == '[' && module[n - 1] == ']'
		       ? strtab_add_n(r->strings, module + 1, n - 2)
		       : module;
}

/* The frames of a location, without their functions. */
static struct frame frame_at(struct reader *r, const struct row *location,
			     const struct row *mapping)
{
	const uint64_t address = location->of[LOCATION_ADDRESS];
	struct frame frame = { .kind = FRAME_USER,
			       .image = NO_IMAGE,
			       .addr = address,
			       .offset = NO_OFFSET,
			       .module_offset = NO_OFFSET };

	if (!mapping)
		return frame;
	frame.image = (uint32_t)(mapping - r->mappings.rows);

	const struct frame_image *image = &r->frames.images[frame.image];

	if (is_of_kernel(image->path, address) || is_of_kernel(image->path, image->start))
		frame.kind = FRAME_KERNEL;
	else
		frame.is_jit = is_of_jit(image->path);
	frame.module = module_of_mapping(r, image->path, frame.kind == FRAME_KERNEL);
	frame.is_in_file =
		frame.kind == FRAME_USER && !frame.is_jit && pprof_is_in_file(image->path);
	if (address >= image->start && address < image->limit)
		frame.file_offset = address - image->start + image->offset;
	return frame;
}

/* "[libx.so+0x1200]" is no name, but says where the function begins. */
static bool take_start(struct frame *frame)
{
	const size_t n = frame->module ? strlen(frame->module) : 0;
	char *end;

	if (!frame->is_in_file || !frame->name || frame->name[0] != '[' ||
	    strncmp(frame->name + 1, frame->module, n) != 0 ||
	    !text_begins_with(frame->name + 1 + n, "+0x"))
		return false;
	errno = 0;
	frame->module_offset = strtoull(frame->name + 1 + n + 1, &end, 16);
	if (errno || strcmp(end, "]") != 0) {
		frame->module_offset = NO_OFFSET;
		return false;
	}
	frame->offset = 0;
	frame->has_start = true;
	frame->name = frame->raw_name = NULL;
	return true;
}

/* Turn a function "[cut: depth]" at no place into a mark with the name "depth". */
static bool take_mark(struct reader *r, struct frame *frame)
{
	const bool is_cut = text_begins_with(frame->name, PPROF_CUT);

	if (frame->addr || (frame->kind == FRAME_USER && frame->image != NO_IMAGE) ||
	    (!is_cut && !text_begins_with(frame->name, PPROF_UNVERIFIED)))
		return false;

	const char *reason = frame->name + strlen(is_cut ? PPROF_CUT : PPROF_UNVERIFIED);
	const size_t n = strlen(reason);

	*frame = (struct frame){ .kind = is_cut ? FRAME_CUT : FRAME_UNVERIFIED,
				 .image = NO_IMAGE,
				 .name = strtab_add_n(r->strings, reason,
						      n && reason[n - 1] == ']' ? n - 1 : n) };
	return true;
}

static void set_function(struct reader *r, uint64_t id, struct frame *frame)
{
	const struct row *function = row_of_id(&r->functions, id);

	if (id == 0) /* a line without a function */
		return;
	if (!function)
		return fail(r, -EBADMSG, "a location names function %llu, which is not there",
			    (unsigned long long)id);
	frame->name = text_at(r, function->of[FUNCTION_NAME]);
	if (function->of[FUNCTION_SYSTEM_NAME] != function->of[FUNCTION_NAME])
		frame->raw_name = text_at(r, function->of[FUNCTION_SYSTEM_NAME]);
	frame->file = text_at(r, function->of[FUNCTION_FILE]);
	if (frame->file && strrchr(frame->file, '/'))
		frame->file = strrchr(frame->file, '/') + 1;
	if (!frame->name) {
		frame->name = frame->raw_name;
		frame->raw_name = NULL;
	}
}

static void push_frame(struct reader *r, const struct frame *frame)
{
	charge(r, 4 * sizeof(*frame));
	array_push(r->frames.frames, r->frames.n, r->frames.capacity, *frame);
}

static void read_location(struct reader *r, struct row *location)
{
	const uint64_t id = location->of[LOCATION_MAPPING];
	const struct row *mapping = row_of_id(&r->mappings, id);
	struct wire bytes = location->bytes;
	struct wire_field field;

	if (id && !mapping)
		return fail(r, -EBADMSG, "location %llu names mapping %llu, which is not there",
			    (unsigned long long)location->of[LOCATION_ID], (unsigned long long)id);

	const struct frame place = frame_at(r, location, mapping);

	location->is_kernel = place.kind == FRAME_KERNEL;
	location->first = (uint32_t)r->frames.n;
	while (next_field(r, &bytes, &field, "location")) {
		uint64_t line[LINE_NUMBER + 1] = {};
		struct frame frame = place;

		if (field.number != LOCATION_LINE)
			continue;
		if (field.type != WIRE_BYTES)
			return fail(r, -EBADMSG, "a line has wire type %u", field.type);
		read_numbers(r, &field, line, ARRAY_SIZE(line), "line");
		set_function(r, line[LINE_FUNCTION], &frame);
		frame.line = (int64_t)line[LINE_NUMBER] < 0 ? 0 : (uint32_t)line[LINE_NUMBER];
		frame.is_inlined = true; /* into the next one */
		push_frame(r, &frame);
	}
	if (r->frames.n == location->first)
		push_frame(r, &place);
	location->n = (uint32_t)r->frames.n - location->first;

	struct frame *last = &r->frames.frames[r->frames.n - 1];

	last->is_inlined = false;
	if (location->n > 1 || !take_mark(r, last))
		take_start(last);
}

/* --- samples --- */

static void take_locations(struct reader *r, struct wire_field *field, struct profile_stack *stack)
{
	uint64_t id;

	while (next_number(r, field, &id, "the locations of a sample")) {
		const struct row *location = row_of_id(&r->locations, id);

		if (!location)
			return fail(r, -EBADMSG, "a sample names location %llu, which is not there",
				    (unsigned long long)id);
		r->n_frames += location->n;
		if (r->n_frames > MOST_FRAMES)
			return fail(r, -E2BIG, "has more than %zu frames in its stacks",
				    MOST_FRAMES);
		for (uint32_t i = 0; i < location->n; i++)
			array_push(r->row, r->n_row, r->row_capacity, location->first + i);
		if (location->is_kernel && stack->n_user == 0) /* kernel frames come first */
			stack->n_kernel += location->n;
		else
			stack->n_user += location->n;
	}
}

/* Values may be below zero, and sums of them must fit. */
static size_t take_values(struct reader *r, struct wire_field *field, int64_t *to, size_t n)
{
	uint64_t value;

	while (next_number(r, field, &value, "the values of a sample")) {
		if (n == r->n_types) {
			fail(r, -EBADMSG, "a sample has more than its %zu values", r->n_types);
			break;
		}

		uint64_t *sum = &r->sums[n];

		if (__builtin_add_overflow(*sum, (int64_t)value < 0 ? -value : value, sum) ||
		    *sum > INT64_MAX)
			fail(r, -E2BIG, "its values add up to more than 2^63");
		to[n++] = (int64_t)value;
	}
	return n;
}

/* Labels of other programs are left out. */
static void take_label(struct reader *r, const struct wire_field *field,
		       struct profile_stack *stack)
{
	uint64_t of[LABEL_NUMBER + 1] = {};

	read_numbers(r, field, of, ARRAY_SIZE(of), "label");

	const char *key = text_at(r, of[LABEL_KEY]), *text = text_at(r, of[LABEL_STRING]);
	const int64_t number = text ? -1 : (int64_t)of[LABEL_NUMBER];

	if (text_is_same(key, PPROF_LABEL_PID) && !stack->pid && number > 0 && number <= UINT32_MAX)
		stack->pid = (uint32_t)number;
	else if (text_is_same(key, PPROF_LABEL_COMM) && !stack->comm)
		stack->comm = text;
	else if (text_is_same(key, PPROF_LABEL_SLICE) && r->slice == NO_SLICE && number >= 0 &&
		 (uint64_t)number < r->n_slices)
		r->slice = (uint32_t)number;
	else if (text_is_same(key, PPROF_LABEL_BASE) && text_is_same(text, "true"))
		r->is_base = true;
}

static void add_sample(struct reader *r, struct profile_stack *stack, int64_t *values)
{
	for (size_t i = 0; i < r->n_types && r->is_base; i++)
		values[i] = -values[i];
	stack->frames = r->row;
	*(r->is_base ? &stack->count_before : &stack->count) = values[0];
	if (r->n_types > 1)
		*(r->is_base ? &stack->more_before : &stack->more) = values + 1;
	profile_builder_profile(r->builder)->is_difference |= r->is_base;

	const uint32_t number = profile_builder_add(r->builder, stack);

	if (number >= r->n_stacks) {
		r->n_stacks = (size_t)number + 1;
		charge(r, (2 + r->n_types) * sizeof(*stack) + r->n_row * sizeof(*r->row));
	}
	if (r->slice != NO_SLICE && !r->is_base) {
		profile_builder_part(r->builder, number, r->slice, values[0]);
		charge(r, 2 * sizeof(struct profile_part));
	}
}

static void read_sample(struct reader *r, struct wire bytes)
{
	struct profile_stack stack = {};
	int64_t values[PROFILE_MOST_VALUES] = {};
	struct wire_field field;
	size_t n_values = 0;

	r->n_row = 0;
	r->slice = NO_SLICE;
	r->is_base = false;
	while (next_field(r, &bytes, &field, "sample")) {
		if (field.number == SAMPLE_LOCATION)
			take_locations(r, &field, &stack);
		else if (field.number == SAMPLE_VALUE)
			n_values = take_values(r, &field, values, n_values);
		else if (field.number == SAMPLE_LABEL && field.type == WIRE_BYTES)
			take_label(r, &field, &stack);
	}
	if (n_values != r->n_types)
		fail(r, -EBADMSG, "a sample has %zu values, and not %zu", n_values, r->n_types);
	if (!r->err)
		add_sample(r, &stack, values);
}

/* --- the rest --- */

static struct profile_value own_value(struct reader *r, struct profile *p, const uint64_t *type)
{
	return (struct profile_value){ strtab_add_or_null(p->strings, text_at(r, type[TYPE_NAME])),
				       strtab_add_or_null(p->strings,
							  text_at(r, type[TYPE_UNIT])) };
}

/* All but stacks and frames. */
static void finish_profile(struct reader *r, struct profile *p)
{
	for (size_t i = 0; i < r->n_types; i++) {
		struct profile_value *value = &p->values[i];

		*value = own_value(r, p, r->types[i]);
		value->name = value->name ? value->name : "";
		value->unit = value->unit ? value->unit : "";
	}
	if (__builtin_add_overflow(p->total, p->hidden, &p->total))
		fail(r, -EBADMSG, "its hidden count does not fit into 64 bits");
	p->about.begin_ns = r->numbers[PPROF_TIME_NS];
	p->about.duration_ns = r->numbers[PPROF_DURATION_NS];
	p->about.period = (int64_t)r->numbers[PPROF_PERIOD];
	p->about.period_type = own_value(r, p, r->period_type);
	profile_put_value_first(p, r->first_type);
}

static void reader_fini(struct reader *r)
{
	struct table *const tables[] = { &r->mappings, &r->functions, &r->locations };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		free(tables[i]->rows);
		u64_map_fini(&tables[i]->numbers);
	}
	strtab_free(r->strings);
	free(r->texts);
	free(r->frames.frames);
	free(r->frames.images);
	free(r->row);
	profile_builder_freep(&r->builder);
}

int pprof_read(const void *bytes, size_t n, const char *name, struct profile **ret, struct error *e)
{
	cleanup(reader_fini) struct reader r = { .name = name,
						 .e = e,
						 .file = { bytes, (const uint8_t *)bytes + n },
						 .memory = MOST_MEMORY,
						 .strings = strtab_new(),
						 .mappings = { .what = "mapping" },
						 .functions = { .what = "function" },
						 .locations = { .what = "location" } };
	struct wire file = r.file;
	struct wire_field field;

	read_tables(&r);
	r.builder = profile_builder_new(r.n_types ? r.n_types : 1);
	read_comments(&r);
	read_images(&r);
	for (size_t i = 0; i < r.locations.n && !r.err; i++)
		read_location(&r, &r.locations.rows[i]);
	while (!r.err && wire_next(&file, &field) > 0)
		if (field.number == PPROF_SAMPLE)
			read_sample(&r, field.bytes);

	cleanup(profile_freep) struct profile *p = profile_builder_finish(r.builder, &r.frames);

	finish_profile(&r, p);
	if (!r.err)
		*ret = TAKE(p);
	return r.err;
}
