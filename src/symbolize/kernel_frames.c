// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses in the kernel to frames. */
#include <string.h>

#include "base/cleanup.h"
#include "elf/demangle.h"
#include "symbolize/machinery.h"
#include "symbolize/place.h"
#include "symbolize/state.h"

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
	struct frame frame = { .kind = FRAME_KERNEL, .image = NO_IMAGE, .addr = addr };
	bool is_new;

	if (symbol) {
		cleanup_free char *plain = name_without_number(symbol->name);

		frame.name = strtab_add(s->strings, plain ? plain : symbol->name);
		frame.module = strtab_add_or_null(s->strings, symbol->module);
		frame.offset = addr - symbol->addr;
		key.kind |= KEY_NAMED;
		key.file = (uintptr_t)frame.name; /* a module may be loaded where another was */
		key.place = symbol->addr;
		key.detail = detail_of(s, frame.offset, addr, addr);
	}

	uint32_t number = frames_number(&s->frames, &key, &is_new);

	if (is_new) {
		if (symbol)
			frame.image = frame_images_of_kernel(&s->frame_images, &s->frames.table,
							     s->strings, frame.module);
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
	const uint32_t *known = u64_map_get(seen, pc->addr);
	struct kernel_answer answer;
	uint32_t number;

	kernel_names_update(&s->kernel);
	if (known)
		return *known;
	kernel_names_at(&s->kernel, place_look_up_at(pc->addr, pc->is_exact), pc->time, &answer);
	number = kernel_frame(s, pc->addr, &answer);
	if (answer.is_lasting)
		*u64_map_put(seen, pc->addr, number, NULL) = number;
	else
		narrow_validity(&s->kernel_validity, &answer);
	return number;
}
