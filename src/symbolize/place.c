// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/place.h"

static void find_place_at(struct image_names *names, struct processes *processes,
			  const struct user_pc *pc, uint64_t at, struct user_place *ret)
{
	*ret = (struct user_place){ .where.image = IMAGE_NONE, .addr = pc->addr, .at = at };
	ret->is_mapped = processes_at(processes, pc->process, pc->time, at, &ret->where);
	ret->has_places = ret->is_mapped && image_names_has_places(names, ret->where.image);
	if (ret->has_places)
		ret->is_put_off = !image_names_look_up(names, ret->where.image, ret->where.offset,
						       &ret->place);
}

/*
 * Is the address the first byte of a function that nobody called? @exact is the answer for the
 * address itself. A signal's handler returns to __restore_rt, makecontext() puts the address of
 * __start_context on the stack, and a new program stands at _start. The byte before belongs to
 * another function, or to none.
 */
static bool is_pushed(const struct user_place *exact)
{
	return exact->place.function && exact->place.start == exact->place.vaddr &&
	       !exact->place.is_behind_call;
}

void place_find(struct image_names *names, struct processes *processes, const struct user_pc *pc,
		struct user_place *ret)
{
	const uint64_t at = place_look_up_at(pc->addr, pc->is_exact);

	find_place_at(names, processes, pc, at, ret);
	if (at == pc->addr || ret->is_put_off || (ret->place.function && !ret->place.is_last))
		return;
	find_place_at(names, processes, pc, pc->addr, ret);
	if (!ret->is_put_off && !is_pushed(ret))
		find_place_at(names, processes, pc, at, ret);
}
