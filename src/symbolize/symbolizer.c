/*
 * From an address to the number of its frame:
 *
 *	address --seen?--> number                                  nearly always
 *	        --region--> image + offset --symbols--> function --key--> number
 *
 * Which addresses are the same frame is what the key says; what has no name and
 * lies in no file (JIT code, addresses that a broken stack gave) has no place that
 * two processes could share, and is one frame unless addresses are shown: its
 * lines all read "[unknown]", and random addresses would split equal stacks.
 */
#include "symbolize/symbolize.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/strtab.h"
#include "elf/demangle.h"
#include "symbolize/frames.h"
#include "symbolize/images.h"
#include "symbolize/kernel.h"
#include "symbolize/machinery.h"
#include "symbolize/processes.h"

/* Beside the enum frame_kind in a key. */
#define KEY_NAMED 0x100

struct symbolizer {
	struct symbolizer_options options;
	struct strtab *strings;
	struct frames frames;
	struct kernel_names kernel;
	struct u64_map kernel_seen[2]; /* [1]: of exact addresses */
	struct images *images;
	struct processes *processes;
	struct u64_map demangled; /* from a symbol's name in @strings to the place in @names */
	const char **names;
	size_t n_names, cap_names;
};

struct symbolizer *symbolizer_new(struct host *host, const struct symbolizer_options *options)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	s->strings = strtab_new();
	s->kernel.host = host;
	s->images = images_new(s->strings, !options->no_debuginfod);
	s->processes = processes_new(s->images, s->strings);
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	processes_free(s->processes);
	images_free(s->images);
	kernel_names_fini(&s->kernel);
	u64_map_fini(&s->kernel_seen[0]);
	u64_map_fini(&s->kernel_seen[1]);
	u64_map_fini(&s->demangled);
	free(s->names);
	frames_fini(&s->frames);
	strtab_free(s->strings);
	free(s);
}

void symbolizer_freep(struct symbolizer **s)
{
	symbolizer_free(*s);
	*s = NULL;
}

void symbolizer_refresh(struct symbolizer *s)
{
	kernel_names_refresh(&s->kernel);
	processes_refresh(s->processes);
}

void symbolizer_process(struct symbolizer *s, uint32_t tgid, const char *comm)
{
	processes_announce(s->processes, tgid, comm);
}

const char *symbolizer_comm(struct symbolizer *s, uint32_t tgid)
{
	return processes_comm(s->processes, tgid);
}

const struct frame_table *symbolizer_frames(const struct symbolizer *s)
{
	return &s->frames.table;
}

const char *symbolizer_kernel_trouble(const struct symbolizer *s)
{
	return s->kernel.trouble;
}

/*
 * The one place of the "minus one": a return address is where the call ends, and
 * behind a call that does not return another function may begin.
 */
static uint64_t look_up_at(uint64_t addr, bool is_exact)
{
	return is_exact || addr == 0 ? addr : addr - 1;
}

static uint64_t detail_of(const struct symbolizer *s, uint64_t offset, uint64_t addr)
{
	switch (s->options.identity) {
	case IDENTITY_FUNCTION:
		return 0;
	case IDENTITY_OFFSET:
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

static uint32_t kernel_frame(struct symbolizer *s, uint64_t addr,
			     const struct kernel_symbol *symbol)
{
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
		frame.is_machinery = symbol && machinery_is(frame.name, frame.module);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

uint32_t symbolize_kernel(struct symbolizer *s, uint64_t addr, bool is_exact)
{
	if (kernel_names_update(&s->kernel))
		forget_kernel_answers(s);

	const uint32_t *seen = u64_map_get(&s->kernel_seen[is_exact], addr);

	if (seen)
		return *seen;

	struct kernel_symbol symbol;
	bool is_changed;
	bool is_found =
		kernel_names_at(&s->kernel, look_up_at(addr, is_exact), &symbol, &is_changed);

	if (is_changed)
		forget_kernel_answers(s);

	uint32_t number = kernel_frame(s, addr, is_found ? &symbol : NULL);

	*u64_map_put(&s->kernel_seen[is_exact], addr, number, NULL) = number;
	return number;
}

/* @symbol as it was written in the source; worked out once for each. */
static const char *name_of(struct symbolizer *s, const char *symbol)
{
	const char *kept = strtab_add(s->strings, symbol);
	bool is_new;

	if (s->options.raw_names)
		return kept;

	uint32_t number = *u64_map_put(&s->demangled, (uintptr_t)kept, s->n_names, &is_new);

	if (is_new) {
		char *plain = demangle(kept);
		const char *name = plain ? strtab_add(s->strings, plain) : kept;

		free(plain);
		array_push(s->names, s->n_names, s->cap_names, name);
	}
	return s->names[number];
}

static uint32_t user_frame(struct symbolizer *s, const struct region *region, uint64_t addr,
			   bool is_exact)
{
	uint64_t at = look_up_at(addr, is_exact);
	uint32_t image = region ? region->image : IMAGE_NONE;
	bool has_places = region && images_has_places(s->images, image);
	struct frame frame = { .kind = FRAME_USER, .addr = addr };
	struct frame_key key = { .kind = FRAME_USER, .file = image };
	struct image_place place = {};
	bool is_new;

	if (has_places) {
		images_look_up(s->images, image, at - region->start + region->offset, &place);
		frame.module_offset = place.vaddr + (addr - at);
	} else if (region) {
		frame.module_offset = addr - region->start;
	}
	if (place.function) {
		frame.offset = frame.module_offset - place.start;
		key.kind |= KEY_NAMED;
		key.place = place.start;
		key.detail = detail_of(s, frame.offset, addr);
	} else {
		key.place = has_places ? frame.module_offset : 0;
		key.detail = detail_of(s, 0, addr);
	}

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		frame.name = place.function ? name_of(s, place.function) : NULL;
		frame.module = images_module(s->images, image);
		s->frames.table.frames[number] = frame;
	}
	return number;
}

uint32_t symbolize_user(struct symbolizer *s, uint32_t tgid, uint64_t addr, bool is_exact)
{
	struct process *p = processes_get(s->processes, tgid);
	const uint32_t *seen = u64_map_get(&p->seen[is_exact], addr);

	if (seen)
		return *seen;

	const struct region *region =
		processes_region_at(s->processes, p, look_up_at(addr, is_exact));
	uint32_t number = user_frame(s, region, addr, is_exact);

	/* What lies in no file now may lie in one after the next refresh. */
	if (region && images_has_places(s->images, region->image))
		*u64_map_put(&p->seen[is_exact], addr, number, NULL) = number;
	return number;
}

uint32_t symbolize_cut(struct symbolizer *s, const char *reason)
{
	const char *name = strtab_add(s->strings, reason);
	struct frame_key key = { .kind = FRAME_CUT, .file = (uintptr_t)name };
	bool is_new;
	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new)
		s->frames.table.frames[number] = (struct frame){ .kind = FRAME_CUT, .name = name };
	return number;
}
