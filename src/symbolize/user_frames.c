// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From an address to the number of its frame:
 *
 *	address --seen?--> number                                      nearly always
 *	address --region--> image + offset --symbols--> function --key--> number
 *	                    no file --perf map--> function --key--> number
 *
 * Addresses with one key are one frame. Code of a file without a symbol is the function that
 * .eh_frame gives, or, without one, all such code of the file. Code outside of any file (JIT code
 * without a map, addresses of a broken stack) has no place that two processes could share. It is
 * one frame unless the report shows addresses or places: its lines all read "[unknown]", and random
 * addresses would split equal stacks.
 */
#include <string.h>

#include "base/cleanup.h"
#include "processes/processes.h"
#include "symbolize/place.h"
#include "symbolize/state.h"

/* If more functions are inlined at one place, the outermost of these are left out. */
#define MOST_CALLS 64

/* The last part of the source's path, lent by the strtab. Adds path and line to @key. */
static const char *source_of_call(struct symbolizer *s, const struct image_call *call,
				  struct frame_key *key)
{
	if (!call->file)
		return NULL;

	const char *path = strtab_add(s->strings, call->file);
	const char *slash = strrchr(path, '/');

	key->source = (uintptr_t)path;
	key->line = call->line;
	return slash ? slash + 1 : path;
}

/*
 * The place that was looked up: of a return address, it is in the call before. Other programs ask
 * for the name of exactly this place.
 */
static uint64_t user_place_offset(const struct user_place *p)
{
	return p->has_places ? p->where.offset : p->addr;
}

/* Set the image of a new frame, its offset there, and who made the code. */
static void set_image(struct symbolizer *s, const struct user_place *p, struct frame *frame)
{
	bool is_go = false;

	if (!p->is_mapped)
		return;
	frame->image = frame_images_of_user(&s->frame_images, &s->frames.table, s->strings,
					    s->image_names, p, &is_go);
	if (p->has_places)
		frame->file_offset = user_place_offset(p);
	if (is_go)
		frame->code = CODE_GO;
	else if (image_names_may_be_made(s->image_names, p->where.image))
		frame->code = CODE_JIT;
}

/*
 * The frame of JIT code. A compiler may put one function at several addresses, so its name
 * identifies it, in all processes. The perf map has addresses in place of file offsets.
 */
static uint32_t made_frame(struct symbolizer *s, const struct user_place *p)
{
	const uint64_t offset = p->addr - p->made.start;
	struct frame frame = { .kind = FRAME_USER,
			       .code = CODE_JIT,
			       .image = NO_IMAGE,
			       .name = strtab_add(s->strings, p->made.name),
			       .module = p->made.module,
			       .addr = p->addr,
			       .offset = offset,
			       .module_offset = p->addr };
	struct frame_key key = { .kind = FRAME_USER | KEY_NAMED | KEY_MADE,
				 .place = (uintptr_t)frame.name,
				 .detail = detail_of(s, offset, offset, p->addr) };
	bool is_new;

	if (s->options.identity == IDENTITY_ADDRESS)
		key.file = (uintptr_t)frame.module; /* the report shows it */

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		set_image(s, p, &frame);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

static const char *module_of(struct symbolizer *s, uint32_t image)
{
	cleanup(image_about_fini) struct image_about about;

	return images_about(s->images, image, &about) ? strtab_add(s->strings, about.module) : NULL;
}

/* Set offset and key of a frame without a name, at frame->module_offset. */
static void set_unnamed(const struct symbolizer *s, const struct user_place *p, struct frame *frame,
			struct frame_key *key)
{
	const bool is_vdso = images_kind(s->images, p->where.image) == IMAGE_VDSO;

	frame->has_start = (frame->is_in_file || is_vdso) && p->place.has_start;
	if (frame->has_start) {
		frame->offset = frame->module_offset - p->place.start;
		key->kind |= KEY_BEGUN;
		key->place = p->place.start;
	} else if (p->has_places && !frame->is_in_file && !is_vdso) {
		key->place = frame->module_offset;
	}
	if (s->options.places)
		key->place = frame->module_offset;
	key->detail = detail_of(s, frame->offset, user_place_offset(p), p->addr);
}

static uint32_t user_frame(struct symbolizer *s, const struct user_place *p,
			   const struct image_call *call)
{
	const uint32_t image = p->where.image;
	struct frame frame = {
		.kind = FRAME_USER, .image = NO_IMAGE, .addr = p->addr, .line = call->line
	};
	struct frame_key key = { .kind = FRAME_USER, .file = image };
	bool is_new;

	frame.is_in_file = image_names_is_file(s->image_names, image);
	if (p->has_places)
		frame.module_offset = p->place.vaddr + (p->addr - p->at);
	else if (p->is_mapped)
		frame.module_offset = p->addr - p->where.start;
	if (p->place.function) {
		frame.offset = frame.module_offset - p->place.start;
		key.kind |= KEY_NAMED;
		key.place = p->place.start;
		key.detail = detail_of(s, frame.offset, user_place_offset(p), p->addr);
	} else {
		set_unnamed(s, p, &frame, &key);
	}
	frame.file = source_of_call(s, call, &key);

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		frame.name = strtab_add_or_null(s->strings, p->place.function);
		frame.module = module_of(s, image);
		set_image(s, p, &frame);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

/* An inlined function is one frame of its file, wherever it was inlined. */
static uint32_t inlined_frame(struct symbolizer *s, const struct user_place *p,
			      const struct image_call *call)
{
	uint64_t module_offset = p->place.vaddr + (p->addr - p->at);
	struct frame frame = { .kind = FRAME_USER,
			       .is_inlined = true,
			       .image = NO_IMAGE,
			       .is_in_file = image_names_is_file(s->image_names, p->where.image),
			       .name = strtab_add(s->strings, call->name),
			       .addr = p->addr,
			       .module_offset = module_offset,
			       .line = call->line };
	struct frame_key key = { .kind = FRAME_USER | KEY_NAMED | KEY_INLINED,
				 .file = p->where.image,
				 .place = (uintptr_t)frame.name,
				 .detail = detail_of(s, module_offset, user_place_offset(p),
						     p->addr) };
	bool is_new;

	frame.file = source_of_call(s, call, &key);

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		frame.module = module_of(s, p->where.image);
		set_image(s, p, &frame);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

/* Write the numbers of the frames at @p, innermost first. Returns how many there are. */
static size_t frames_of_place(struct symbolizer *s, const struct user_place *p,
			      uint32_t numbers[MOST_CALLS])
{
	const struct image_call itself = {}; /* the function itself; its source is not known */
	const struct image_call *calls = p->place.calls;
	size_t n = p->place.n_calls < MOST_CALLS ? p->place.n_calls : MOST_CALLS;

	if (p->made.name) {
		numbers[0] = made_frame(s, p);
		return 1;
	}
	if (!n) {
		n = 1;
		calls = &itself;
	}
	for (size_t i = 0; i + 1 < n; i++)
		numbers[i] = inlined_frame(s, p, &calls[i]);
	numbers[n - 1] = user_frame(s, p, &calls[n - 1]);
	return n;
}

/*
 * JIT code is in no file, or in one of memory without symbols: look for its name in the perf map.
 */
static void ask_process(struct symbolizer *s, const struct user_pc *pc, struct user_place *place)
{
	cleanup(image_about_fini) struct image_about about = {};
	struct program_run program;

	if (!place->is_mapped || place->place.function ||
	    !image_names_may_be_made(s->image_names, place->where.image))
		return;
	processes_program(s->processes, pc->process, pc->time, &program);
	(void)jit_at(s->jit, &program, place->at, pc->time, &place->made);
	if (!place->made.name &&
	    images_about(s->images,
			 processes_copied(s->processes, pc->process, pc->time, place->at), &about))
		log_few(&s->copied,
			"frames in anonymous memory, where the code of %s was mapped, have no "
			"names (was it copied to huge pages?)",
			about.module);
}

/*
 * Does the address have the same frames as long as its epoch is the same? A process may write other
 * code to memory, and a later report may read a file that nobody could read. A look beside the
 * region may find another one there.
 */
static bool are_frames_lasting(const struct symbolizer *s, const struct user_pc *pc,
			       const struct user_place *p)
{
	return p->is_mapped && !p->place.is_missed &&
	       images_kind(s->images, p->where.image) != IMAGE_NO_FILE &&
	       !image_names_may_be_made(s->image_names, p->where.image) &&
	       (pc->is_exact || (pc->addr > p->where.start && pc->addr < p->where.limit));
}

size_t symbolize_user(struct symbolizer *s, const struct user_pc *pc, uint32_t *to, size_t most)
{
	uint32_t made[MOST_CALLS];
	size_t n;
	const uint32_t *numbers = seen_get(&s->seen, images_version(s->images), pc, &n);

	if (!numbers) {
		struct user_place place;

		place_find(s->image_names, s->processes, pc, &place);
		if (place.is_put_off)
			return 0;
		ask_process(s, pc, &place);
		n = frames_of_place(s, &place, made);
		if (are_frames_lasting(s, pc, &place))
			seen_put(&s->seen, images_version(s->images), pc, made, n);
		numbers = made;
	}

	const size_t n_shown = n < most ? n : most;

	memcpy(to, numbers + n - n_shown, n_shown * sizeof(*to));
	return n_shown;
}

void symbolizer_defer(struct symbolizer *s)
{
	image_names_defer(s->image_names);
}

void symbolizer_want(struct symbolizer *s, const struct user_pc *pc)
{
	struct user_place place;

	if (seen_note(&s->seen, images_version(s->images), pc, s->n_fetches))
		place_find(s->image_names, s->processes, pc, &place);
}

size_t symbolizer_n_put_off(const struct symbolizer *s)
{
	return image_names_n_put_off(s->image_names);
}

bool symbolizer_fetch(struct symbolizer *s)
{
	s->n_fetches++; /* an address may put off another name when it has the first one */
	return image_names_fetch(s->image_names);
}

uint32_t symbolize_mark(struct symbolizer *s, enum frame_kind kind, const char *reason)
{
	const char *name = strtab_add(s->strings, reason);
	struct frame_key key = { .kind = kind, .file = (uintptr_t)name };
	bool is_new;
	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] =
			(struct frame){ .kind = kind, .image = NO_IMAGE, .name = name };
	return number;
}
