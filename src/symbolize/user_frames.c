// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From an address to the number of its frame:
 *
 *	address --region--> image + offset --seen?--> number               nearly always
 *	                    image + offset --symbols--> function --key--> number
 *	                    no file --perf map--> function --key--> number
 *
 * Addresses with one key are one frame. Code of a file without a symbol is the function that
 * .eh_frame gives, or, without one, all such code of the file. Code outside of any file (JIT code
 * without a map, addresses of a broken stack) has no place that two processes could share. It is
 * one frame unless the report shows addresses or places: its lines all read "[unknown]", and random
 * addresses would split equal stacks.
 */
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "processes/images.h"
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
			       .module = module_of(s, p->where.image),
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
		set_image(s, p, &frame);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

/* The chain of the frames at @p. */
static uint32_t chain_of_place(struct symbolizer *s, const struct user_place *p)
{
	const struct image_call itself = {}; /* the function itself; its source is not known */
	const struct image_call *calls = p->place.calls;
	uint32_t numbers[MOST_CALLS];
	size_t n = p->place.n_calls < MOST_CALLS ? p->place.n_calls : MOST_CALLS;

	if (p->made.name)
		return made_frame(s, p);
	if (!n) {
		n = 1;
		calls = &itself;
	}
	for (size_t i = 0; i + 1 < n; i++)
		numbers[i] = inlined_frame(s, p, &calls[i]);
	numbers[n - 1] = user_frame(s, p, &calls[n - 1]);
	return chains_add(&s->chains, numbers, n);
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

/* Does the report show the address of @chain, and is that another process's? */
static bool is_of_other(const struct symbolizer *s, uint32_t chain, uint64_t addr)
{
	size_t n;
	const uint32_t *numbers = chains_get(&s->chains, &chain, &n);

	return s->options.identity == IDENTITY_ADDRESS &&
	       s->frames.table.frames[numbers[n - 1]].addr != addr;
}

static bool are_sites_valid(const struct symbolizer *s)
{
	return s->sites.version == images_version(s->images);
}

/* Keep @chain for addresses that come again. */
static void remember_chain(struct symbolizer *s, const struct user_pc *pc, uint32_t chain)
{
	if (are_sites_valid(s))
		sites_put(&s->sites, pc->run, pc->node, chain);
	seen_places_remember(&s->seen, pc, chain);
}

static bool recall_chain(struct symbolizer *s, const struct user_pc *pc, uint32_t *ret)
{
	const bool are_valid = are_sites_valid(s);

	if (are_valid && sites_get(&s->sites, pc->run, pc->node, ret) == SITE_KNOWN)
		return true;
	if (!seen_places_recall(&s->seen, s->images, pc, ret) || *ret == CHAIN_WANTED)
		return false;
	if (are_valid)
		sites_put(&s->sites, pc->run, pc->node, *ret);
	return true;
}

/* Find the chain of frames at @pc. False: its name is put off. */
static bool find_chain(struct symbolizer *s, const struct user_pc *pc, uint32_t *ret)
{
	struct place where;

	if (recall_chain(s, pc, ret))
		return true;

	const bool is_mapped = processes_at(s->processes, pc->process, pc->time, pc->addr, &where);
	const uint32_t *known =
		is_mapped ? seen_places_get(&s->seen, s->images, s->image_names, pc, &where) : NULL;

	if (known && !is_of_other(s, *known, pc->addr)) {
		*ret = *known;
		remember_chain(s, pc, *ret);
		return true;
	}

	struct user_place place;

	place_find(s->image_names, s->processes, pc, &place);
	if (place.is_put_off)
		return false;
	ask_process(s, pc, &place);
	*ret = chain_of_place(s, &place);
	if (is_mapped && !place.place.is_missed &&
	    seen_places_put(&s->seen, s->images, s->image_names, pc, &where, *ret) &&
	    !is_of_other(s, *ret, pc->addr))
		remember_chain(s, pc, *ret);
	return true;
}

size_t symbolize_user(struct symbolizer *s, const struct user_pc *pc, uint32_t *to, size_t most)
{
	uint32_t chain;
	size_t n;

	if (!find_chain(s, pc, &chain))
		return 0;

	const uint32_t *numbers = chains_get(&s->chains, &chain, &n);
	size_t n_shown = n < most ? n : most;

	memcpy(to, numbers + n - n_shown, n_shown * sizeof(*to));
	return n_shown;
}

void symbolizer_defer(struct symbolizer *s)
{
	image_names_defer(s->image_names);
}

bool symbolizer_fetch(struct symbolizer *s)
{
	return image_names_fetch(s->image_names);
}

size_t symbolizer_n_put_off(const struct symbolizer *s)
{
	return image_names_n_put_off(s->image_names);
}

void symbolizer_begin_tree(struct symbolizer *s, size_t n_nodes)
{
	sites_begin(&s->sites, n_nodes);
	seen_places_expect(&s->seen, n_nodes);
}

void symbolizer_end_tree(struct symbolizer *s)
{
	sites_end(&s->sites);
}

uint32_t symbolizer_run(struct symbolizer *s, uint64_t process, uint64_t epoch)
{
	return sites_run(&s->sites, process, epoch, images_version(s->images));
}

bool symbolizer_want(struct symbolizer *s, const struct user_pc *pc)
{
	const bool are_valid = are_sites_valid(s);
	uint32_t chain;

	if (are_valid && sites_get(&s->sites, pc->run, pc->node, &chain) != SITE_NEW)
		return false;
	/* Other nodes may have the same address. */
	if (!seen_places_recall(&s->seen, s->images, pc, &chain) && !find_chain(s, pc, &chain))
		seen_places_remember(&s->seen, pc, CHAIN_WANTED);
	if (are_valid && sites_get(&s->sites, pc->run, pc->node, &chain) == SITE_NEW)
		sites_want(&s->sites, pc->run, pc->node);
	return true;
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
