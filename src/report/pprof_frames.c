// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/pprof_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/pprof.h"
#include "report/protobuf.h"

void pprof_frames_init(struct pprof_frames *f, const struct profile *p, struct pprof_texts *texts)
{
	*f = (struct pprof_frames){ .p = p, .texts = texts };
	f->by_frame = xcalloc(p->frames.n + 1, sizeof(*f->by_frame));
}

void pprof_frames_fini(struct pprof_frames *f)
{
	free(f->by_frame);
	free(f->locations);
	u64_map_fini(&f->chains);
	free(f->functions);
	u64_map_fini(&f->function_numbers);
	free(f->mappings);
	u64_map_fini(&f->mapping_numbers);
	proto_fini(&f->line);
	*f = (struct pprof_frames){};
}

static bool is_same_location(const struct pprof_location *a, const struct pprof_location *b)
{
	return a->n == b->n && a->is_kernel_side == b->is_kernel_side &&
	       memcmp(a->frames, b->frames, a->n * sizeof(*a->frames)) == 0;
}

static uint32_t chain_id(struct pprof_frames *f, const struct pprof_location *chain)
{
	uint64_t hash = hash_bytes(chain->frames, chain->n * sizeof(*chain->frames));

	for (hash += chain->is_kernel_side;; hash++) {
		bool is_new;
		const uint32_t number =
			*u64_map_put(&f->chains, hash, (uint32_t)f->n_locations, &is_new);

		if (is_new)
			array_push(f->locations, f->n_locations, f->location_capacity, *chain);
		if (is_new || is_same_location(&f->locations[number], chain))
			return number + 1;
	}
}

uint32_t pprof_location(struct pprof_frames *f, const uint32_t *frames, size_t n,
			bool is_kernel_side, size_t *taken)
{
	const uint32_t id = f->by_frame[*frames];

	*taken = 1;
	if (id) /* do not touch the frame: most of the time goes to cache misses */
		return id;

	const struct frame *table = f->p->frames.frames;
	struct pprof_location location = { .frames = frames };

	while (location.n < n && table[frames[location.n]].is_inlined)
		location.n++;
	location.n += location.n < n;
	location.is_kernel_side = is_kernel_side && frame_is_mark(&table[frames[location.n - 1]]);
	*taken = location.n;
	if (location.n > 1 || table[*frames].is_inlined || frame_is_mark(&table[*frames]))
		return chain_id(f, &location);
	array_push(f->locations, f->n_locations, f->location_capacity, location);
	return f->by_frame[*frames] = (uint32_t)f->n_locations;
}

static const struct frame_image *image_of_frame(const struct pprof_frames *f,
						const struct frame *frame)
{
	return frame->image < f->p->frames.n_images ? &f->p->frames.images[frame->image] : NULL;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static uint64_t pprof_path_of(struct pprof_frames *f, const struct frame *frame,
			      const struct frame_image *image)
{
	const bool is_kernel = frame->kind == FRAME_KERNEL;

	if (image && !(is_kernel && strcmp(text_or_empty(image->path), "[kernel]") == 0))
		return pprof_text(f->texts, image->path);
	if (!is_kernel)
		return pprof_text(f->texts, frame->module);
	if (!image && frame->module)
		return pprof_text_made(f->texts, "[%s]", frame->module);
	return pprof_text(f->texts, PPROF_KERNEL);
}

/* 0: in no mapping. */
static uint32_t mapping_id(struct pprof_frames *f, const struct frame *frame)
{
	const struct frame_image *image = image_of_frame(f, frame);
	const bool is_kernel = frame->kind == FRAME_KERNEL;

	if (frame_is_mark(frame) ||
	    (!image && !frame->module && !is_kernel && frame->code == CODE_NATIVE))
		return 0;

	const uint64_t path = pprof_path_of(f, frame, image);
	const uint64_t key = (image ? frame->image : 1ULL << 32 | path) << 3 |
			     (uint64_t)is_kernel << 2 | frame->code;
	bool is_new;
	const uint32_t number =
		*u64_map_put(&f->mapping_numbers, key, (uint32_t)f->n_mappings, &is_new);

	if (is_new)
		array_push(f->mappings, f->n_mappings, f->mapping_capacity,
			   ((struct pprof_mapping){ .image = image,
						    .path = path,
						    .is_kernel = is_kernel,
						    .code = frame->code }));
	return number + 1;
}

static uint64_t pprof_mark_text(struct pprof_frames *f, const struct frame *mark)
{
	return pprof_text_made(f->texts, "%s%s]",
			       mark->kind == FRAME_CUT ? PPROF_CUT : PPROF_UNVERIFIED,
			       text_or_empty(mark->name));
}

static uint32_t function_id(struct pprof_frames *f, const struct frame *frame)
{
	struct pprof_function function = { .name = frame_is_mark(frame)
							   ? pprof_mark_text(f, frame)
							   : pprof_text(f->texts, frame->name),
					   .file = pprof_text(f->texts, frame->file) };

	function.raw_name = frame->raw_name ? pprof_text(f->texts, frame->raw_name) : function.name;
	for (uint64_t hash = hash_bytes(&function, sizeof(function));; hash++) {
		bool is_new;
		const uint32_t number =
			*u64_map_put(&f->function_numbers, hash, (uint32_t)f->n_functions, &is_new);

		if (is_new)
			array_push(f->functions, f->n_functions, f->function_capacity, function);
		if (is_new || memcmp(&f->functions[number], &function, sizeof(function)) == 0)
			return number + 1;
	}
}

/*
 * Only addresses of a file are the same in all processes that have it mapped, by their place in
 * it. The mapping is of one process, and the frame's first hit may be of another.
 */
static uint64_t pprof_address_of(const struct frame *frame, const struct frame_image *image)
{
	if (frame_is_mark(frame))
		return 0;
	if (!image || !pprof_is_in_file(image->path))
		return frame->addr;

	const uint64_t address = image->start + (frame->file_offset - image->offset);

	return address >= image->start && address < image->limit ? address : frame->addr;
}

static bool is_module_told(const struct frame *frame, const char *path)
{
	size_t n;
	const char *module = pprof_module(path, frame->kind == FRAME_KERNEL, &n);

	if (!module || !frame->module)
		return !module && !frame->module;
	return strncmp(frame->module, module, n) == 0 && frame->module[n] == '\0';
}

static bool looks_like_mark(const struct frame *frame, uint64_t address)
{
	const char *name = text_or_empty(frame->name);

	return address == 0 && (strncmp(name, PPROF_CUT, strlen(PPROF_CUT)) == 0 ||
				strncmp(name, PPROF_UNVERIFIED, strlen(PPROF_UNVERIFIED)) == 0);
}

/* A location, as its lines and its frame need it. */
struct place {
	const struct pprof_location *location;
	const struct frame_image *image; /* NULL: not recorded */
	const char *path;                /* of the mapping */
	uint64_t address;
	uint32_t mapping;
};

/* Put the details of a frame that a reader cannot derive from the other fields. */
static void put_details(struct pprof_frames *f, const struct frame *frame,
			const struct place *place, struct proto *to)
{
	const struct frame_image *image = place->image;
	const bool is_mark = frame_is_mark(frame);
	const uint64_t file_offset =
		image ? pprof_file_offset(place->address, image->start, image->limit, image->offset)
		      : 0;
	unsigned flags = (frame->is_machinery ? FLAG_MACHINERY : 0U) |
			 (frame->has_start ? FLAG_HAS_START : 0U) |
			 (place->location->is_kernel_side ? FLAG_KERNEL_SIDE : 0U) |
			 (place->mapping == 0 && !is_mark && looks_like_mark(frame, place->address)
				  ? FLAG_NO_MARK
				  : 0U);

	if (frame->is_in_file !=
	    (place->mapping && frame->kind == FRAME_USER && pprof_is_in_file(place->path)))
		flags |= FLAG_NOT_AS_FILE;
	proto_number(to, FRAME_OFFSET, frame->offset);
	proto_number(to, FRAME_ADDR, pprof_zigzag(frame->addr - place->address));
	proto_number(to, FRAME_FILE_OFFSET, pprof_zigzag(frame->file_offset - file_offset));
	proto_number(to, FRAME_MODULE_OFFSET,
		     pprof_zigzag(frame->module_offset - frame->file_offset));
	if (!is_module_told(frame, place->mapping ? place->path : NULL))
		proto_any_number(to, FRAME_MODULE, pprof_text(f->texts, frame->module));
	proto_number(to, FRAME_FLAGS, flags);
}

static void put_pprof_line(struct pprof_frames *f, const struct frame *frame,
			   const struct place *place, struct proto *to)
{
	struct proto *line = &f->line;

	line->n = 0;
	proto_number(line, LINE_FUNCTION, function_id(f, frame));
	proto_number(line, LINE_NUMBER, frame->line);
	if (frame->is_inlined)
		put_details(f, frame, place, line);
	proto_bytes(to, LOCATION_LINE, line->bytes, line->n);
}

/* A mapping lacks functions if one of its frames has no name. */
static void note_mapping(struct pprof_frames *f, const struct place *place)
{
	if (!place->mapping)
		return;

	struct pprof_mapping *mapping = &f->mappings[place->mapping - 1];

	for (uint32_t i = 0; i < place->location->n; i++) {
		const struct frame *frame = &f->p->frames.frames[place->location->frames[i]];

		mapping->lacks_functions |= !text_or_empty(frame->name)[0];
		mapping->lacks_files |= !frame->file;
		mapping->has_inlined |= frame->is_inlined;
	}
}

static void put_location(struct pprof_frames *f, uint32_t number, struct proto *to)
{
	const struct pprof_location *location = &f->locations[number];
	const struct frame *table = f->p->frames.frames;
	const struct frame *frame = &table[location->frames[location->n - 1]];
	const uint32_t mapping = mapping_id(f, frame);
	const struct place place = {
		.location = location,
		.mapping = mapping,
		.image = mapping ? f->mappings[mapping - 1].image : NULL,
		.path = mapping ? f->texts->texts[f->mappings[mapping - 1].path] : NULL,
		.address = pprof_address_of(frame, image_of_frame(f, frame)),
	};

	note_mapping(f, &place);
	proto_number(to, LOCATION_ID, number + 1);
	proto_number(to, LOCATION_MAPPING, mapping);
	proto_number(to, LOCATION_ADDRESS, place.address);
	for (uint32_t i = 0; i < location->n; i++) {
		const struct frame *one = &table[location->frames[i]];

		if (location->n > 1 || one->name || one->file || frame_is_mark(one))
			put_pprof_line(f, one, &place, to);
	}
	if (frame->is_inlined)
		proto_number(to, FRAME_FLAGS, FLAG_NO_FUNCTION);
	else
		put_details(f, frame, &place, to);
}

static void put_pprof_function(const struct pprof_frames *f, size_t number, struct proto *to)
{
	const struct pprof_function *function = &f->functions[number];

	proto_number(to, FUNCTION_ID, number + 1);
	proto_number(to, FUNCTION_NAME, function->name);
	proto_number(to, FUNCTION_SYSTEM_NAME, function->raw_name);
	proto_number(to, FUNCTION_FILE, function->file);
}

static bool has_go_build_id(const struct frame_image *image)
{
	return text_begins_with(image->build_id, GO_BUILD_ID_PREFIX);
}

static void put_mapping(const struct pprof_frames *f, size_t number, struct proto *to)
{
	const struct pprof_mapping *mapping = &f->mappings[number];
	const struct frame_image *image = mapping->image;

	proto_number(to, MAPPING_ID, number + 1);
	if (image) {
		proto_number(to, MAPPING_START, image->start);
		proto_number(to, MAPPING_LIMIT, image->limit);
		proto_number(to, MAPPING_OFFSET, image->offset);
		proto_number(to, has_go_build_id(image) ? MAPPING_GO_BUILD_ID : MAPPING_BUILD_ID,
			     pprof_text(f->texts, image->build_id));
	}
	proto_number(to, MAPPING_FILE, mapping->path);
	proto_number(to, MAPPING_HAS_FUNCTIONS, !mapping->lacks_functions);
	proto_number(to, MAPPING_HAS_FILES, !mapping->lacks_files);
	proto_number(to, MAPPING_HAS_LINES, !mapping->lacks_files);
	proto_number(to, MAPPING_HAS_INLINED, mapping->has_inlined);
}

/* pprof takes the first mapping for the program. */
static size_t number_of_program(const struct pprof_frames *f)
{
	size_t best = 0;
	int best_rank = -1;

	for (size_t i = 0; i < f->n_mappings; i++) {
		const char *path = f->texts->texts[f->mappings[i].path];
		const int rank = f->mappings[i].is_kernel || !pprof_is_in_file(path) ? 0
				 : strstr(path, ".so")                               ? 1
										     : 2;

		if (rank > best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}

static void flush_message(struct proto *m, unsigned field, struct proto *to)
{
	proto_bytes(to, field, m->bytes, m->n);
	m->n = 0;
}

/* Prefetch a frame, as profile_fetch_ahead() does: frames are in another order than locations.
 */
static inline __attribute__((__always_inline__)) void
fetch_frames_ahead(const struct pprof_frames *f, size_t i)
{
	enum { AHEAD = 8 };
	const size_t n = f->n_locations;

	if (i + 2UL * AHEAD >= n)
		return;
	__builtin_prefetch(f->locations[i + 2UL * AHEAD].frames);

	const struct frame *frame = &f->p->frames.frames[*f->locations[i + AHEAD].frames];

	__builtin_prefetch(frame);
	__builtin_prefetch(&frame->raw_name);
}

void pprof_frames_put(struct pprof_frames *f, struct proto *to)
{
	struct proto m = {};

	for (uint32_t i = 0; i < f->n_locations; i++) {
		fetch_frames_ahead(f, i);
		put_location(f, i, &m);
		flush_message(&m, PPROF_LOCATION, to);
	}

	const size_t program = number_of_program(f);

	for (size_t i = 0; i < f->n_mappings; i++) {
		/* The program's, then those before it, then those behind it. */
		put_mapping(f, i == 0 ? program : i <= program ? i - 1 : i, &m);
		flush_message(&m, PPROF_MAPPING, to);
	}
	for (size_t i = 0; i < f->n_functions; i++) {
		put_pprof_function(f, i, &m);
		flush_message(&m, PPROF_FUNCTION, to);
	}
	proto_fini(&m);
}
