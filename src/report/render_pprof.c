// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file of pprof (profile.proto), packed by gzip: see profile/pprof.h. As text, a stack is
 *
 *	sample { location_id: 1 location_id: 2 value: 42 label { key: "pid" num: 7 } }
 *	location { id: 1 mapping_id: 1 address: 0x7f3a11d1e4fb line { function_id: 1 } }
 *	function { id: 1 name: "__read" system_name: "__read" }
 *
 * A stack with slices of time is one sample for each slice, with a label "slice". A difference has
 * two samples for a stack: the one before the change has negative values and the label
 * "pprof::base". A user function without a name is called by its place, "[libx.so+0x1200]". Offsets
 * in functions and addresses as linked are not in the file: pprof has no fields for them.
 */
#include <assert.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "profile/pprof.h"
#include "report/render.h"

struct pprof_mapping {
	const struct frame_image *image; /* NULL: only a name is known */
	uint64_t file;                   /* number of the text */
	bool lacks_functions, lacks_files, has_inlined;
};

struct pprof {
	const struct profile *p;
	struct strbuf file;                 /* not packed yet */
	struct strbuf locations, functions; /* apart, because equal things pack better together */
	struct strbuf message;              /* being made */
	struct strbuf inner;                /* message in it */
	struct strbuf ids;                  /* of the stack's locations, packed */
	struct strbuf comments;
	struct strtab *strings; /* made here */
	const char **texts;     /* number 0 is "" */
	size_t n_texts, text_capacity;
	struct u64_map text_numbers; /* by hash */
	uint32_t n_locations;
	uint32_t *alone; /* locations of frames: of users, then of the kernel; 0: none yet */
	struct u64_map chain_locations; /* of inlined frames: by the hash of their numbers */
	struct u64_map function_ids;
	struct pprof_mapping *mappings;
	size_t n_mappings, mapping_capacity;
	struct u64_map mapping_numbers; /* by image, or by text */
	size_t part;                    /* next one of p->parts */
};

static void pprof_fini(struct pprof *w)
{
	strbuf_fini(&w->file);
	strbuf_fini(&w->locations);
	strbuf_fini(&w->functions);
	strbuf_fini(&w->message);
	strbuf_fini(&w->inner);
	strbuf_fini(&w->ids);
	strbuf_fini(&w->comments);
	strtab_free(w->strings);
	free(w->texts);
	u64_map_fini(&w->text_numbers);
	free(w->alone);
	u64_map_fini(&w->chain_locations);
	u64_map_fini(&w->function_ids);
	free(w->mappings);
	u64_map_fini(&w->mapping_numbers);
}

/* Put the message as @field of the file. */
static void put_message(struct pprof *w, unsigned field)
{
	proto_bytes(&w->file, field, w->message.text, w->message.n);
	w->message.n = 0;
}

static void put_inner(struct pprof *w, unsigned field)
{
	proto_bytes(&w->message, field, w->inner.text, w->inner.n);
	w->inner.n = 0;
}

/* --- texts --- */

/* The number of @text, which must stay. 0 if it is NULL. */
static uint64_t pprof_text(struct pprof *w, const char *text)
{
	bool is_new;

	if (!text)
		return 0;

	const uint32_t number = *u64_map_put(&w->text_numbers, hash_bytes(text, strlen(text)),
					     (uint32_t)w->n_texts, &is_new);

	if (is_new)
		array_push(w->texts, w->n_texts, w->text_capacity, text);
	return number;
}

/* The text that was made in w->inner, which is empty then. */
static const char *take_made_text(struct pprof *w)
{
	const char *kept = strtab_add(w->strings, w->inner.text);

	strbuf_clear(&w->inner);
	return kept;
}

/* Strings of protobuf are UTF-8, so each other byte becomes \xff (its value in hex digits). */
static void put_texts(struct pprof *w)
{
	for (size_t i = 0; i < w->n_texts; i++) {
		for (const char *at = w->texts[i]; *at;) {
			uint32_t c;
			const size_t n = utf8_at((const unsigned char *)at, &c);

			if (n)
				strbuf_put(&w->message, at, n);
			else
				strbuf_printf(&w->message, "\\x%02x", (unsigned char)*at);
			at += n ? n : 1;
		}
		put_message(w, PPROF_STRING);
	}
}

/* --- locations --- */

static const struct frame_image *image_of_frame(const struct pprof *w, const struct frame *frame)
{
	return frame->image < w->p->frames.n_images ? &w->p->frames.images[frame->image] : NULL;
}

/* NULL: @frame is in no mapping. */
static struct pprof_mapping *mapping_of_frame(struct pprof *w, const struct frame *frame,
					      bool is_kernel)
{
	const struct frame_image *image = image_of_frame(w, frame);
	const char *file = image ? image->path : frame->module;
	bool is_new;

	if (is_kernel && (image ? text_is_same(file, "[kernel]") : !file)) {
		file = PPROF_KERNEL;
	} else if (is_kernel && !image) {
		strbuf_printf(&w->inner, "[%s]", file);
		file = take_made_text(w);
	} else if (!is_kernel && file && frame->module &&
		   strcmp(pprof_module(file), frame->module) != 0) {
		image = NULL; /* a perf map has the names of code in memory */
		file = frame->module;
	}
	if (!image && !file)
		return NULL;

	const uint64_t text = pprof_text(w, file);
	const uint64_t key = image ? frame->image : 1ULL << 32 | text;
	const uint32_t i = *u64_map_put(&w->mapping_numbers, key, (uint32_t)w->n_mappings, &is_new);

	if (is_new)
		array_push(w->mappings, w->n_mappings, w->mapping_capacity,
			   ((struct pprof_mapping){ .image = image, .file = text }));
	return &w->mappings[i];
}

/* NULL: none. */
static const char *pprof_name_of(struct pprof *w, const struct frame *frame)
{
	if (frame_is_mark(frame))
		strbuf_printf(&w->inner, "%s%s]",
			      frame->kind == FRAME_CUT ? PPROF_CUT : PPROF_UNVERIFIED,
			      frame->name ? frame->name : "");
	else if (!has_text(frame->name) && frame->has_start && frame->module)
		strbuf_printf(&w->inner, "[%s+0x%" PRIx64 "]", frame->module,
			      frame->module_offset - frame->offset);
	else
		return has_text(frame->name) ? frame->name : NULL;
	return take_made_text(w);
}

/* The id of a function, which is written if it is new. Needs w->inner empty. */
static uint64_t function_id(struct pprof *w, const struct frame *frame, const char *name)
{
	const uint64_t text = pprof_text(w, name), raw = pprof_text(w, frame->raw_name);
	const uint64_t file = pprof_text(w, frame->file);
	/* A raw name has one name. */
	const uint64_t key = (raw ? raw : text) << 32 | (raw ? 1U << 31 : 0) | file;
	const uint32_t next = (uint32_t)w->function_ids.n + 1;
	const uint32_t id = *u64_map_put(&w->function_ids, key, next, NULL);

	if (id != next)
		return id;
	proto_number(&w->inner, FUNCTION_ID, id);
	proto_number(&w->inner, FUNCTION_NAME, text);
	proto_number(&w->inner, FUNCTION_SYSTEM_NAME, raw ? raw : text);
	proto_number(&w->inner, FUNCTION_FILE, file);
	proto_bytes(&w->functions, PPROF_FUNCTION, w->inner.text, w->inner.n);
	strbuf_clear(&w->inner);
	return id;
}

/*
 * Only addresses of a file are the same in all processes that have it mapped, by their place in
 * it. The mapping is of one process, and the frame's first hit may be of another.
 */
static uint64_t pprof_address_of(const struct pprof *w, const struct frame *frame)
{
	const struct frame_image *image = image_of_frame(w, frame);

	if (frame_is_mark(frame))
		return 0;
	if (!image || !pprof_is_in_file(image->path))
		return frame->addr;

	const uint64_t address = image->start + (frame->file_offset - image->offset);

	return address >= image->start && address < image->limit ? address : frame->addr;
}

/* Write the location of @n frames, and return its id. */
static uint32_t put_location(struct pprof *w, const uint32_t *frames, size_t n, bool is_kernel)
{
	const struct frame *table = w->p->frames.frames, *last = &table[frames[n - 1]];
	struct pprof_mapping *mapping = mapping_of_frame(
		w, last, frame_is_mark(last) ? is_kernel : last->kind == FRAME_KERNEL);

	proto_number(&w->message, LOCATION_ID, ++w->n_locations);
	proto_number(&w->message, LOCATION_MAPPING,
		     mapping ? (uint64_t)(mapping - w->mappings) + 1 : 0);
	proto_number(&w->message, LOCATION_ADDRESS, pprof_address_of(w, last));
	for (size_t i = 0; i < n; i++) {
		const struct frame *frame = &table[frames[i]];
		const char *name = pprof_name_of(w, frame);

		if (mapping) {
			mapping->lacks_functions |= !has_text(frame->name);
			mapping->lacks_files |= !frame->file;
			mapping->has_inlined |= frame->is_inlined;
		}
		if (n == 1 && !name && !frame->file)
			continue;

		const uint64_t function = function_id(w, frame, name);

		proto_number(&w->inner, LINE_FUNCTION, function);
		proto_number(&w->inner, LINE_NUMBER, frame->line);
		put_inner(w, LOCATION_LINE);
	}
	proto_bytes(&w->locations, PPROF_LOCATION, w->message.text, w->message.n);
	w->message.n = 0;
	return w->n_locations;
}

static uint32_t location_of_chain(struct pprof *w, const uint32_t *frames, size_t n, bool is_kernel)
{
	/* Of 64 bits with a secret seed: no file can have two chains meet. */
	const uint64_t hash = hash_bytes(frames, n * sizeof(*frames));
	uint32_t *location = u64_map_put(&w->chain_locations, hash, 0, NULL);

	if (!*location)
		*location = put_location(w, frames, n, is_kernel);
	return *location;
}

/* Add the ids of a stack's locations. They get their numbers when a stack has them for the first
 * time, so that locations of many stacks tend to have short ones. */
static void put_ids(struct pprof *w, const uint32_t *frames, size_t n, bool is_kernel)
{
	const struct frame_table *table = &w->p->frames;

	for (size_t i = 0, taken; i < n; i += taken) {
		uint32_t *alone = &w->alone[frames[i] + (is_kernel ? table->n : 0)], id = *alone;

		taken = 1;
		/* Do not touch a known frame: most of the time goes to cache misses. */
		while (!id && i + taken < n && table->frames[frames[i + taken - 1]].is_inlined)
			taken++;
		if (!id && table->frames[frames[i]].is_inlined)
			id = location_of_chain(w, frames + i, taken, is_kernel);
		else if (!id)
			id = *alone = put_location(w, frames + i, 1, is_kernel);
		proto_varint(&w->ids, id);
	}
}

static void put_mapping(struct pprof *w, size_t number)
{
	const struct pprof_mapping *mapping = &w->mappings[number];
	const struct frame_image *image = mapping->image;

	proto_number(&w->message, MAPPING_ID, number + 1);
	if (image) {
		proto_number(&w->message, MAPPING_START, image->start);
		proto_number(&w->message, MAPPING_LIMIT, image->limit);
		proto_number(&w->message, MAPPING_OFFSET, image->offset);
		proto_number(&w->message, MAPPING_BUILD_ID, pprof_text(w, image->build_id));
	}
	proto_number(&w->message, MAPPING_FILE, mapping->file);
	proto_number(&w->message, MAPPING_HAS_FUNCTIONS, !mapping->lacks_functions);
	proto_number(&w->message, MAPPING_HAS_FILES, !mapping->lacks_files);
	proto_number(&w->message, MAPPING_HAS_LINES, !mapping->lacks_files);
	proto_number(&w->message, MAPPING_HAS_INLINED, mapping->has_inlined);
	put_message(w, PPROF_MAPPING);
}

/* pprof takes the first mapping for the program. */
static size_t number_of_program(const struct pprof *w)
{
	for (size_t i = 0; i < w->n_mappings; i++) {
		const char *file = w->texts[w->mappings[i].file];

		if (pprof_is_in_file(file) && !strstr(file, ".so"))
			return i;
	}
	return 0;
}

/* --- samples --- */

static void put_number_label(struct pprof *w, const char *key, uint64_t number, const char *unit)
{
	proto_number(&w->inner, LABEL_KEY, pprof_text(w, key));
	proto_any_number(&w->inner, LABEL_NUMBER, number);
	proto_number(&w->inner, LABEL_UNIT, pprof_text(w, unit));
	put_inner(w, SAMPLE_LABEL);
}

/* pprof takes an empty text for the number 0. */
static void put_text_label(struct pprof *w, const char *key, const char *text)
{
	if (!has_text(text))
		return;
	proto_number(&w->inner, LABEL_KEY, pprof_text(w, key));
	proto_number(&w->inner, LABEL_STRING, pprof_text(w, text));
	put_inner(w, SAMPLE_LABEL);
}

#define NO_SLICE UINT32_MAX

/* @further: values from number 1 on, or NULL: zeros. @is_base: the values are before a change. */
static void put_pprof_sample(struct pprof *w, const struct profile_stack *stack, int64_t count,
			     const int64_t *further, uint32_t slice, bool is_base)
{
	proto_bytes(&w->message, SAMPLE_LOCATION, w->ids.text, w->ids.n);
	proto_varint(&w->inner, is_base ? -(uint64_t)count : (uint64_t)count);
	for (size_t i = 0; i + 1 < w->p->n_values; i++) {
		const uint64_t value = further ? (uint64_t)further[i] : 0;

		proto_varint(&w->inner, is_base ? -value : value);
	}
	put_inner(w, SAMPLE_VALUE);
	if (slice != NO_SLICE) /* with a unit: pprof drops a label that is 0 and has none */
		put_number_label(w, PPROF_LABEL_SLICE, slice, "index");
	if (is_base)
		put_text_label(w, PPROF_LABEL_BASE, "true");
	if (stack->pid)
		put_number_label(w, PPROF_LABEL_PID, stack->pid, NULL);
	put_text_label(w, PPROF_LABEL_COMM, stack->comm);
	put_message(w, PPROF_SAMPLE);
}

/* Only hits are known for slices. The first slice has all of the other values. */
static void put_slices(struct pprof *w, size_t number)
{
	const struct profile *p = w->p;
	const struct profile_stack *stack = &p->stacks[number];
	const int64_t *further = stack->more;
	uint64_t rest = (uint64_t)stack->count;
	bool has_slice = false;

	for (; w->part < p->n_parts && p->parts[w->part].stack == number; w->part++) {
		const struct profile_part *part = &p->parts[w->part];

		put_pprof_sample(w, stack, part->count, further, part->slice, false);
		rest -= (uint64_t)part->count;
		further = NULL;
		has_slice = true;
	}
	if (rest || !has_slice)
		put_pprof_sample(w, stack, (int64_t)rest, further, NO_SLICE, false);
}

static bool has_stack_values(const struct profile *p, int64_t count, const int64_t *further)
{
	bool has = count;

	for (size_t i = 0; further && i + 1 < p->n_values; i++)
		has |= further[i] != 0;
	return has;
}

static void put_pprof_stack(struct pprof *w, size_t number)
{
	const struct profile_stack *stack = &w->p->stacks[number];
	const bool was_there = w->p->is_difference &&
			       has_stack_values(w->p, stack->count_before, stack->more_before);

	w->ids.n = 0;
	put_ids(w, stack->frames, stack->n_kernel, true);
	put_ids(w, stack->frames + stack->n_kernel, stack->n_user, false);
	if (!was_there || has_stack_values(w->p, stack->count, stack->more))
		put_slices(w, number);
	if (was_there)
		put_pprof_sample(w, stack, stack->count_before, stack->more_before, NO_SLICE, true);
}

/* --- the rest --- */

static void put_pprof_type(struct pprof *w, unsigned field, const struct profile_value *value)
{
	proto_number(&w->message, TYPE_NAME, pprof_text(w, value->name));
	proto_number(&w->message, TYPE_UNIT, pprof_text(w, value->unit));
	put_message(w, field);
}

static void put_comment(void *context, const char *text)
{
	struct pprof *w = context;

	proto_varint(&w->comments, pprof_text(w, strtab_add(w->strings, text)));
}

static void put_rest(struct pprof *w)
{
	const struct profile_about *about = &w->p->about;
	const size_t program = number_of_program(w);

	if (w->locations.n)
		strbuf_put(&w->file, w->locations.text, w->locations.n);
	if (w->functions.n)
		strbuf_put(&w->file, w->functions.text, w->functions.n);
	pprof_put_comments(w->p, put_comment, w);
	if (about->period_type.name || about->period_type.unit)
		put_pprof_type(w, PPROF_PERIOD_TYPE, &about->period_type);
	proto_number(&w->file, PPROF_PERIOD, (uint64_t)about->period);
	proto_number(&w->file, PPROF_TIME_NS, about->begin_ns);
	proto_number(&w->file, PPROF_DURATION_NS, about->duration_ns);
	for (size_t i = 0; i < w->n_mappings; i++) /* the program's, then all others */
		put_mapping(w, i == 0 ? program : i <= program ? i - 1 : i);
	proto_bytes(&w->file, PPROF_COMMENT, w->comments.text, w->comments.n);
	proto_number(&w->file, PPROF_DEFAULT_TYPE, pprof_text(w, w->p->values[0].name));
	put_texts(w);
}

/*
 * Pack the file (RFC 1952), without time or name. libdeflate packs three times as fast as zlib. It
 * has no streams, so the file is whole, and is written in one piece.
 */
static int write_packed(const struct strbuf *file, render_write *write, void *context)
{
	enum { LEVEL = 1 };
	struct libdeflate_compressor *c = memory_or_exit(libdeflate_alloc_compressor(LEVEL));
	const size_t most = libdeflate_gzip_compress_bound(c, file->n);
	cleanup_free char *packed = xmalloc(most);
	const size_t n = libdeflate_gzip_compress(c, file->text, file->n, packed, most);

	assert(n);
	libdeflate_free_compressor(c);
	return write(context, packed, n);
}

int render_pprof(const struct profile *p, const struct render_style *style, render_write *write,
		 void *context)
{
	cleanup(pprof_fini) struct pprof w = { .p = p, .strings = strtab_new() };

	(void)style;
	(void)pprof_text(&w, "");
	w.alone = xcalloc(2 * p->frames.n + 1, sizeof(*w.alone));
	for (size_t i = 0; i < p->n_values; i++)
		put_pprof_type(&w, PPROF_SAMPLE_TYPE, &p->values[i]);
	for (size_t i = 0; i < p->n_stacks; i++)
		put_pprof_stack(&w, i);
	put_rest(&w);
	return write_packed(&w.file, write, context);
}
