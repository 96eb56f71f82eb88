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
#include "symbolize/symbolize.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/strtab.h"
#include "processes/images.h"
#include "processes/processes.h"
#include "reader/debuginfod.h"
#include "reader/roots.h"
#include "symbolize/chains.h"
#include "symbolize/frames.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/kernel.h"
#include "symbolize/machinery.h"
#include "symbolize/place.h"
#include "symbolize/seen.h"

/* Beside the enum frame_kind in a key. */
#define KEY_NAMED 0x100
#define KEY_INLINED 0x200
#define KEY_MADE 0x400
#define KEY_BEGUN 0x800 /* without a name, but its start is known */

/* If more functions are inlined at one place, the outermost of these are left out. */
#define MOST_CALLS 64

struct symbolizer {
	struct symbolizer_options options;
	struct strtab *strings;         /* of @frames */
	struct strtab *process_strings; /* names of processes, and of JIT code */
	struct frames frames;
	struct kernel_names kernel;
	struct u64_map kernel_seen[2]; /* lasting names; [1]: of exact addresses */
	struct seen_places seen;
	struct kernel_validity kernel_validity;
	struct images *images;
	struct image_names *image_names;
	struct processes *processes;
	struct jit *jit;
	struct chains chains;
};

struct symbolizer *symbolizer_new(struct host *host, const struct symbolizer_options *options)
{
	const struct debuginfod_options servers = { options->helper, options->serve,
						    options->context };
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	s->strings = strtab_new();
	s->process_strings = strtab_new();
	kernel_names_init(&s->kernel, host);
	(void)symbolizer_kernel_validity(s);
	s->images = images_new(options->files);

	const struct image_names_options names = {
		.files = options->names,
		.servers = options->no_debuginfod ? NULL : debuginfod_new(&servers),
		.flags =
			(options->lines ? NAMES_LINES : 0U) | (options->raw_names ? NAMES_RAW : 0U),
	};

	s->image_names = image_names_new(s->images, &names);
	s->processes = processes_new(s->images);
	s->jit = jit_new(s->images, s->process_strings);
	if (options->max_roots)
		roots_bound(images_roots(s->images), options->max_roots);
	return s;
}

/* Free frames, their names, and the caches that lead to them. */
static void free_names(struct symbolizer *s)
{
	u64_map_fini(&s->kernel_seen[0]);
	u64_map_fini(&s->kernel_seen[1]);
	seen_places_fini(&s->seen);
	chains_fini(&s->chains);
	frames_fini(&s->frames);
	strtab_free(s->strings);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	processes_free(s->processes);
	jit_free(s->jit);
	image_names_free(s->image_names);
	images_free(s->images);
	kernel_names_fini(&s->kernel);
	free_names(s);
	strtab_free(s->process_strings);
	free(s);
}

void symbolizer_freep(struct symbolizer **s)
{
	symbolizer_free(*s);
	*s = NULL;
}

/* The bound of frame_bytes() between two reports: some 50,000 functions. */
#define MOST_FRAME_BYTES ((size_t)10 << 20)

static size_t frame_bytes(const struct symbolizer *s)
{
	return frames_bytes(&s->frames) + strtab_bytes(s->strings) + seen_places_bytes(&s->seen) +
	       s->chains.capacity * sizeof(*s->chains.words);
}

void symbolizer_trim(struct symbolizer *s)
{
	if (frame_bytes(s) <= MOST_FRAME_BYTES)
		return;
	free_names(s);
	s->kernel_seen[0] = s->kernel_seen[1] = (struct u64_map){};
	s->seen = (struct seen_places){};
	s->chains = (struct chains){};
	s->strings = strtab_new();
}

void symbolizer_refresh(struct symbolizer *s)
{
	kernel_names_refresh(&s->kernel);
	processes_refresh(s->processes);
	images_refresh(s->images);
	image_names_refresh(s->image_names);
	jit_refresh(s->jit);
}

void symbolizer_follow(struct symbolizer *s)
{
	processes_follow(s->processes);
}

/* If the program may have a perf map, follow it, so that it is read before the program ends. */
static void watch_perf_map(struct symbolizer *s, const struct program_run *program)
{
	if (program->has_memory)
		jit_watch(s->jit, program);
}

struct forgotten symbolizer_forgotten(const struct symbolizer *s)
{
	return processes_forgotten(s->processes);
}

void symbolizer_walk(struct symbolizer *s, uint32_t tgid)
{
	processes_walk(s->processes, tgid);
}

bool symbolizer_is_walked(const struct symbolizer *s, uint32_t tgid)
{
	return processes_is_walked(s->processes, tgid);
}

struct process_news symbolizer_event(struct symbolizer *s, const struct process_event *event)
{
	const struct process_news news = processes_event(s->processes, event);
	struct program_run program;

	if (event->type == PROCESS_EXEC ||
	    (event->type == PROCESS_EXIT && event->pid == event->tid))
		jit_ended(s->jit, event->pid, event->time);
	if (event->type == PROCESS_MAP && processes_hit(s->processes, event->pid, &program))
		watch_perf_map(s, &program);
	return news;
}

void symbolizer_look_again(struct symbolizer *s)
{
	jit_look_again(s->jit);
}

uint32_t symbolizer_take_changed(struct symbolizer *s)
{
	const uint32_t changed = processes_changed(s->processes);

	return changed ? changed : jit_take_changed(s->jit);
}

void symbolizer_look(struct symbolizer *s, uint32_t tgid)
{
	processes_look(s->processes, tgid);
}

uint64_t symbolizer_look_late(struct symbolizer *s)
{
	const uint32_t tgid = processes_look_late(s->processes);
	struct program_run program;

	if (tgid && processes_hit(s->processes, tgid, &program))
		watch_perf_map(s, &program);
	return processes_late_due(s->processes);
}

void symbolizer_settle(struct symbolizer *s, uint64_t until)
{
	processes_settle(s->processes, until);
}

void symbolizer_process(struct symbolizer *s, uint64_t process, const struct sighting *seen)
{
	struct program_run program;

	processes_seen(s->processes, process, seen);
	processes_program(s->processes, process, seen->time, &program);
	watch_perf_map(s, &program);
}

const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time)
{
	char comm[COMM_BYTES];

	processes_comm(s->processes, process, time, comm);
	return strtab_add(s->process_strings, comm);
}

uint64_t symbolizer_epoch(struct symbolizer *s, uint64_t process, uint64_t time)
{
	struct program_run program;

	processes_program(s->processes, process, time, &program);
	return processes_epoch(s->processes, process, time) + jit_epoch(s->jit, &program, time);
}

uint32_t symbolizer_growth(struct symbolizer *s, uint64_t process, uint64_t time)
{
	struct program_run program;

	processes_program(s->processes, process, time, &program);
	return jit_growth(s->jit, &program, time);
}

const struct frame_table *symbolizer_frames(const struct symbolizer *s)
{
	return &s->frames.table;
}

const char *symbolizer_kernel_trouble(const struct symbolizer *s)
{
	return s->kernel.trouble;
}

static uint64_t detail_of(const struct symbolizer *s, uint64_t offset, uint64_t addr)
{
	switch (s->options.identity) {
	case IDENTITY_FUNCTION:
		return 0;
	case IDENTITY_OFFSET:
	case IDENTITY_PLACE:
		return offset;
	case IDENTITY_ADDRESS:
		return addr;
	}
	return 0;
}

static void forget_kernel_answers(struct symbolizer *s)
{
	u64_map_clear(&s->kernel_seen[0]);
	u64_map_clear(&s->kernel_seen[1]);
}

/* Of BPF programs, only ours trace here, and only ours have lasting names. Others may be traced. */
static bool is_machinery(const struct kernel_answer *answer)
{
	const struct kernel_symbol *symbol = &answer->symbol;

	return machinery_is(symbol->name, symbol->module) &&
	       (answer->is_lasting || !symbol->module ||
		strncmp(symbol->name, "bpf_prog_", 9) != 0);
}

static uint32_t kernel_frame(struct symbolizer *s, uint64_t addr,
			     const struct kernel_answer *answer)
{
	const struct kernel_symbol *symbol = answer->is_found ? &answer->symbol : NULL;
	struct frame_key key = { .kind = FRAME_KERNEL, .place = addr };
	struct frame frame = { .kind = FRAME_KERNEL, .addr = addr };
	bool is_new;

	if (symbol) {
		frame.name = strtab_add(s->strings, symbol->name);
		frame.module = symbol->module ? strtab_add(s->strings, symbol->module) : NULL;
		frame.offset = addr - symbol->addr;
		key.kind |= KEY_NAMED;
		key.file = (uintptr_t)frame.name; /* a module may be loaded where another was */
		key.place = symbol->addr;
		key.detail = detail_of(s, frame.offset, addr);
	}

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		frame.is_machinery = symbol && is_machinery(answer);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

struct kernel_validity symbolizer_kernel_validity(struct symbolizer *s)
{
	const struct kernel_validity all = s->kernel_validity;

	s->kernel_validity = (struct kernel_validity){ .until = UINT64_MAX };
	return all;
}

static void narrow_validity(struct kernel_validity *v, const struct kernel_answer *answer)
{
	if (answer->from > v->from)
		v->from = answer->from;
	if (answer->until < v->until)
		v->until = answer->until;
}

uint32_t symbolize_kernel(struct symbolizer *s, const struct kernel_pc *pc)
{
	struct u64_map *seen = &s->kernel_seen[pc->is_exact];
	const struct kernel_time when = { pc->first, pc->last };
	struct kernel_answer answer;

	if (kernel_names_update(&s->kernel))
		forget_kernel_answers(s);

	const uint32_t *known = u64_map_get(seen, pc->addr);

	if (known)
		return *known;
	kernel_names_at(&s->kernel, place_look_up_at(pc->addr, pc->is_exact), &when, &answer);
	if (answer.is_changed)
		forget_kernel_answers(s);

	uint32_t number = kernel_frame(s, pc->addr, &answer);

	if (answer.is_lasting)
		*u64_map_put(seen, pc->addr, number, NULL) = number;
	else
		narrow_validity(&s->kernel_validity, &answer);
	return number;
}

/* The last part of the source's path, lent by the strtab. Adds path and line to @key. */
static const char *source_of(struct symbolizer *s, const struct image_call *call,
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
 * The frame of JIT code. A compiler may put one function at several addresses, so its name
 * identifies it, in all processes. The perf map has addresses in place of file offsets.
 */
static uint32_t made_frame(struct symbolizer *s, const struct user_place *p)
{
	const uint64_t offset = p->addr - p->made.start;
	struct frame frame = { .kind = FRAME_USER,
			       .name = strtab_add(s->strings, p->made.name),
			       .module = p->made.module,
			       .addr = p->addr,
			       .offset = offset,
			       .module_offset = p->addr };
	struct frame_key key = { .kind = FRAME_USER | KEY_NAMED | KEY_MADE,
				 .place = (uintptr_t)frame.name,
				 .detail = detail_of(s, offset, p->addr) };
	bool is_new;

	if (s->options.identity == IDENTITY_ADDRESS)
		key.file = (uintptr_t)frame.module; /* the report shows it */

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] = frame;
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
	frame->has_start = frame->is_in_file && p->place.has_start;
	if (frame->has_start) {
		frame->offset = frame->module_offset - p->place.start;
		key->kind |= KEY_BEGUN;
		key->place = p->place.start;
	} else if (p->has_places && !frame->is_in_file) {
		key->place = frame->module_offset;
	}
	if (s->options.places)
		key->place = frame->module_offset;
	key->detail = detail_of(s, frame->offset, p->addr);
}

static uint32_t user_frame(struct symbolizer *s, const struct user_place *p,
			   const struct image_call *call)
{
	const uint32_t image = p->where.image;
	struct frame frame = { .kind = FRAME_USER, .addr = p->addr, .line = call->line };
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
		key.detail = detail_of(s, frame.offset, p->addr);
	} else {
		set_unnamed(s, p, &frame, &key);
	}
	frame.file = source_of(s, call, &key);

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		frame.name = p->place.function ? strtab_add(s->strings, p->place.function) : NULL;
		frame.module = module_of(s, image);
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
			       .is_in_file = image_names_is_file(s->image_names, p->where.image),
			       .name = strtab_add(s->strings, call->name),
			       .module = module_of(s, p->where.image),
			       .addr = p->addr,
			       .module_offset = module_offset,
			       .line = call->line };
	struct frame_key key = { .kind = FRAME_USER | KEY_NAMED | KEY_INLINED,
				 .file = p->where.image,
				 .place = (uintptr_t)frame.name,
				 .detail = detail_of(s, module_offset, p->addr) };
	bool is_new;

	frame.file = source_of(s, call, &key);

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] = frame;
	return number;
}

/* The chain of the frames at @p. */
static uint32_t frames_of(struct symbolizer *s, const struct user_place *p)
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
	struct program_run program;

	if (!place->is_mapped || place->place.function ||
	    !image_names_may_be_made(s->image_names, place->where.image))
		return;
	processes_program(s->processes, pc->process, pc->time, &program);
	(void)jit_at(s->jit, &program, place->at, pc->time, &place->made);
}

/* Does the report show the address of @chain, and is that another process's? */
static bool is_of_other(const struct symbolizer *s, uint32_t chain, uint64_t addr)
{
	size_t n;
	const uint32_t *numbers = chains_get(&s->chains, &chain, &n);

	return s->options.identity == IDENTITY_ADDRESS &&
	       s->frames.table.frames[numbers[n - 1]].addr != addr;
}

/* Find the chain of frames at @pc. False: its name is put off. */
static bool find_chain(struct symbolizer *s, const struct user_pc *pc, uint32_t *ret)
{
	struct place where;

	if (seen_places_recall(&s->seen, s->images, pc, ret))
		return true;

	const bool is_mapped = processes_at(s->processes, pc->process, pc->time, pc->addr, &where);
	const uint32_t *known =
		is_mapped ? seen_places_get(&s->seen, s->images, s->image_names, pc, &where) : NULL;

	if (known && !is_of_other(s, *known, pc->addr)) {
		*ret = *known;
		seen_places_remember(&s->seen, pc, *ret);
		return true;
	}

	struct user_place place;

	place_find(s->image_names, s->processes, pc, &place);
	if (place.is_put_off)
		return false;
	ask_process(s, pc, &place);
	*ret = frames_of(s, &place);
	if (is_mapped && !place.place.is_missed)
		seen_places_put(&s->seen, s->images, s->image_names, pc, &where, *ret);
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

uint32_t symbolize_mark(struct symbolizer *s, enum frame_kind kind, const char *reason)
{
	const char *name = strtab_add(s->strings, reason);
	struct frame_key key = { .kind = kind, .file = (uintptr_t)name };
	bool is_new;
	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] = (struct frame){ .kind = kind, .name = name };
	return number;
}
