// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Mappings to images, functions and locations to frames. */
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/pprof.h"
#include "saved/reader.h"

/* Addresses of user space are below. */
#define KERNEL_HALF (1ULL << 63)

/* Other programs do not say which mappings are of the kernel. */
static bool seems_kernel(const char *path, uint64_t address)
{
	return text_begins_with(path, "[kernel") ||
	       (address >= KERNEL_HALF && !text_begins_with(path, "[vsyscall]"));
}

static int read_mapping(struct reader *r, struct wire bytes, struct mapping *to, struct error *e)
{
	struct wire_field field;
	uint64_t id = 0, path = 0, build_id = 0;
	int more, err;

	while ((more = wire_next(&bytes, &field)) > 0) {
		switch (field.number) {
		case MAPPING_ID:
			id = field.value;
			break;
		case MAPPING_START:
			to->start = field.value;
			break;
		case MAPPING_LIMIT:
			to->limit = field.value;
			break;
		case MAPPING_OFFSET:
			to->offset = field.value;
			break;
		case MAPPING_FILE:
			path = field.value;
			break;
		case MAPPING_BUILD_ID:
		case MAPPING_GO_BUILD_ID:
			build_id = field.value;
			break;
		default:;
		}
	}
	if (more)
		return reader_refuse(r, e, "a mapping is cut off");
	err = reader_text(r, path, &to->path, e);
	if (!err)
		err = reader_text(r, build_id, &to->build_id, e);
	return err ? err : ids_add(r, &r->mapping_ids, id, e);
}

int reader_mappings(struct reader *r, struct error *e)
{
	const size_t n = r->n_mapping_bytes;
	int err = reader_charge(r, n * (sizeof(*r->mappings) + 2 * sizeof(*r->frames.images)), e);

	if (err)
		return err;
	r->mappings = xcalloc(n, sizeof(*r->mappings));
	for (size_t i = 0; i < n; i++) {
		err = read_mapping(r, r->mapping_bytes[i], &r->mappings[i], e);
		if (err)
			return err;
		r->mappings[i].is_kernel = !r->is_as_written &&
					   seems_kernel(r->mappings[i].path, r->mappings[i].start);
	}
	return ids_finish(r, &r->mapping_ids, "mapping", e);
}

int reader_images(struct reader *r, struct error *e)
{
	(void)e;
	for (size_t i = 0; i < r->n_mapping_bytes; i++) {
		struct mapping *m = &r->mappings[i];

		m->image = NO_IMAGE;
		if (m->has_no_image)
			continue;
		m->image = (uint32_t)r->frames.n_images;
		array_push(r->frames.images, r->frames.n_images, r->frames.image_capacity,
			   ((struct frame_image){
				   .path = m->is_kernel && m->path &&
							   strcmp(m->path, PPROF_KERNEL) == 0
						   ? "[kernel]"
						   : m->path,
				   .build_id = m->build_id,
				   .start = m->start,
				   .limit = m->limit,
				   .offset = m->offset }));
	}
	return 0;
}

static int read_function(struct reader *r, struct wire bytes, struct function *to, struct error *e)
{
	struct wire_field field;
	uint64_t id = 0;
	int more;

	while ((more = wire_next(&bytes, &field)) > 0) {
		if (field.number == FUNCTION_ID)
			id = field.value;
		else if (field.number == FUNCTION_NAME)
			to->name = field.value;
		else if (field.number == FUNCTION_SYSTEM_NAME)
			to->raw_name = field.value;
		else if (field.number == FUNCTION_FILE)
			to->file = field.value;
	}
	if (more)
		return reader_refuse(r, e, "a function is cut off");
	return ids_add(r, &r->function_ids, id, e);
}

int reader_functions(struct reader *r, struct error *e)
{
	const size_t n = r->n_function_bytes;
	int err = reader_charge(r, n * sizeof(*r->functions), e);

	if (err)
		return err;
	r->functions = xcalloc(n, sizeof(*r->functions));
	for (size_t i = 0; i < n; i++) {
		err = read_function(r, r->function_bytes[i], &r->functions[i], e);
		if (err)
			return err;
	}
	return ids_finish(r, &r->function_ids, "function", e);
}

/* Our own fields of a location or a line. */
struct details {
	uint64_t offset, addr, file_offset, module_offset, flags, module;
	bool has_module;
};

static void take_detail(struct details *d, const struct wire_field *field)
{
	switch (field->number) {
	case FRAME_OFFSET:
		d->offset = field->value;
		break;
	case FRAME_ADDR:
		d->addr = pprof_unzigzag(field->value);
		break;
	case FRAME_FILE_OFFSET:
		d->file_offset = pprof_unzigzag(field->value);
		break;
	case FRAME_MODULE_OFFSET:
		d->module_offset = pprof_unzigzag(field->value);
		break;
	case FRAME_FLAGS:
		d->flags = field->value;
		break;
	case FRAME_MODULE:
		d->module = field->value;
		d->has_module = true;
		break;
	default:;
	}
}

struct place {
	uint64_t mapping_id, address;
	const struct mapping *mapping; /* NULL: none */
};

static int set_module(struct reader *r, const struct place *place, const struct details *d,
		      struct frame *frame, struct error *e)
{
	const struct mapping *m = place->mapping;
	size_t n;

	if (d->has_module)
		return reader_text(r, d->module, &frame->module, e);

	const char *module = m ? pprof_module(m->path, frame->kind == FRAME_KERNEL, &n) : NULL;

	frame->module = module ? strtab_add_n(r->strings, module, n) : NULL;
	return 0;
}

/* Set all but the function of a frame at @place. */
static int set_frame(struct reader *r, const struct place *place, const struct details *d,
		     struct frame *frame, struct error *e)
{
	const struct mapping *m = place->mapping;
	const bool is_kernel =
		m && (m->is_kernel || (!r->is_as_written && seems_kernel(m->path, place->address)));

	frame->kind = is_kernel ? FRAME_KERNEL : FRAME_USER;
	frame->code = m ? m->code : CODE_NATIVE;
	frame->image = m ? m->image : NO_IMAGE;
	frame->addr = place->address + d->addr;
	frame->file_offset = d->file_offset;
	if (m && m->image != NO_IMAGE)
		frame->file_offset +=
			pprof_file_offset(place->address, m->start, m->limit, m->offset);
	frame->module_offset = frame->file_offset + d->module_offset;
	frame->offset = d->offset;
	frame->is_machinery = d->flags & FLAG_MACHINERY;
	frame->has_start = d->flags & FLAG_HAS_START;
	frame->is_in_file =
		(m && pprof_is_in_file(m->path) && !is_kernel) != !!(d->flags & FLAG_NOT_AS_FILE);
	return set_module(r, place, d, frame, e);
}

/* Turn a function "[cut: depth]" into a mark with the name "depth". */
static void set_mark(struct reader *r, const struct place *place, const struct details *d,
		     struct frame *frame)
{
	const bool is_cut = text_begins_with(frame->name, PPROF_CUT);

	if (place->mapping || place->address || (d->flags & FLAG_NO_MARK) || !r->has_version ||
	    (!is_cut && !text_begins_with(frame->name, PPROF_UNVERIFIED)))
		return;

	const char *reason = frame->name + strlen(is_cut ? PPROF_CUT : PPROF_UNVERIFIED);
	const size_t n = strlen(reason);

	frame->kind = is_cut ? FRAME_CUT : FRAME_UNVERIFIED;
	frame->name = strtab_add_n(r->strings, reason, n && reason[n - 1] == ']' ? n - 1 : n);
	frame->raw_name = NULL;
}

static int set_function(struct reader *r, uint64_t id, struct frame *frame, struct error *e)
{
	const int64_t row = ids_row(&r->function_ids, id);

	if (id == 0) /* a line without a function */
		return 0;
	if (row < 0)
		return reader_refuse(r, e, "a location names function %llu, which is not there",
				     (unsigned long long)id);

	const struct function *function = &r->functions[row];
	int err = reader_text(r, function->name, &frame->name, e);

	if (!err && function->raw_name != function->name)
		err = reader_text(r, function->raw_name, &frame->raw_name, e);
	if (!err)
		err = reader_text(r, function->file, &frame->file, e);
	if (frame->file && strrchr(frame->file, '/'))
		frame->file = strrchr(frame->file, '/') + 1;
	if (!frame->name) {
		frame->name = frame->raw_name;
		frame->raw_name = NULL;
	}
	return err;
}

static int push_frame(struct reader *r, const struct frame *frame, struct error *e)
{
	const int err = reader_charge(r, 4 * sizeof(*frame), e);

	if (err)
		return err;
	array_push(r->chains, r->n_chains, r->chain_capacity, (uint32_t)r->frames.n);
	array_push(r->frames.frames, r->frames.n, r->frames.capacity, *frame);
	return 0;
}

static int read_pprof_line(struct reader *r, struct wire bytes, const struct place *place,
			   struct error *e)
{
	struct wire_field field;
	struct details d = {};
	struct frame frame = {};
	uint64_t function = 0;
	int more, err;

	while ((more = wire_next(&bytes, &field)) > 0) {
		if (field.number == LINE_FUNCTION)
			function = field.value;
		else if (field.number == LINE_NUMBER)
			frame.line = (int64_t)field.value < 0 ? 0 : (uint32_t)field.value;
		else
			take_detail(&d, &field);
	}
	if (more)
		return reader_refuse(r, e, "a line is cut off");
	err = set_function(r, function, &frame, e);
	if (!err)
		err = set_frame(r, place, &d, &frame, e);
	frame.is_inlined = true;
	return err ? err : push_frame(r, &frame, e);
}

static int read_lines(struct reader *r, const struct location *location, const struct place *place,
		      struct error *e)
{
	struct wire bytes = location->bytes;
	struct wire_field field;

	while (wire_next(&bytes, &field) > 0) {
		if (field.number != LOCATION_LINE)
			continue;
		if (field.type != WIRE_BYTES)
			return reader_refuse(r, e, "a line has wire type %u", field.type);

		const int err = read_pprof_line(r, field.bytes, place, e);

		if (err)
			return err;
	}
	return 0;
}

/* The location itself: the frame of its last line, which the others are inlined into. */
static int finish_location(struct reader *r, struct location *location, const struct place *place,
			   const struct details *d, struct error *e)
{
	struct frame none = {};
	int err = 0;

	if (r->n_chains == location->first)
		err = push_frame(r, &none, e);
	if (err)
		return err;
	location->n = (uint32_t)(r->n_chains - location->first);
	if (d->flags & FLAG_NO_FUNCTION)
		return 0;

	struct frame *last = &r->frames.frames[r->frames.n - 1];

	last->is_inlined = false;
	err = set_frame(r, place, d, last, e);
	if (location->n == 1)
		set_mark(r, place, d, last);
	location->is_kernel_side = d->flags & FLAG_KERNEL_SIDE;
	return err;
}

static int read_location(struct reader *r, struct location *location, struct error *e)
{
	struct wire bytes = location->bytes;
	struct wire_field field;
	struct place place = {};
	struct details d = {};
	uint64_t id = 0;
	int more, err;

	while ((more = wire_next(&bytes, &field)) > 0) {
		if (field.number == LOCATION_ID)
			id = field.value;
		else if (field.number == LOCATION_MAPPING)
			place.mapping_id = field.value;
		else if (field.number == LOCATION_ADDRESS)
			place.address = field.value;
		else
			take_detail(&d, &field);
	}
	if (more)
		return reader_refuse(r, e, "a location is cut off");
	if (place.mapping_id) {
		const int64_t row = ids_row(&r->mapping_ids, place.mapping_id);

		if (row < 0)
			return reader_refuse(
				r, e, "location %llu names mapping %llu, which is not there",
				(unsigned long long)id, (unsigned long long)place.mapping_id);
		place.mapping = &r->mappings[row];
	}
	location->first = (uint32_t)r->n_chains;
	err = read_lines(r, location, &place, e);
	if (!err)
		err = finish_location(r, location, &place, &d, e);
	return err ? err : ids_add(r, &r->location_ids, id, e);
}

int reader_locations(struct reader *r, struct error *e)
{
	for (size_t i = 0; i < r->n_locations; i++) {
		const int err = read_location(r, &r->locations[i], e);

		if (err)
			return err;
	}
	return ids_finish(r, &r->location_ids, "location", e);
}
