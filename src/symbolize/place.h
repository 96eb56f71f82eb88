/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/place.h - an address in a process, and what is known of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/processes.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

struct user_place {
	bool is_mapped; /* else @where says nothing, and its image is IMAGE_NONE */
	struct place where;
	uint64_t addr;
	uint64_t at; /* the address that was looked up */
	bool has_places;
	bool is_put_off; /* nothing is known yet: image_names_defer() */
	struct file_place place;
	struct jit_function made; /* with a name: this is its code, and @place has no function */
};

/*
 * The one place of the "minus one". A return address is where the call ends, and another function
 * may begin behind a call that does not return. Without such a call the address was put on the
 * stack otherwise, which place_find() handles.
 */
static inline uint64_t place_look_up_at(uint64_t addr, bool is_exact)
{
	return is_exact || addr == 0 ? addr : addr - 1;
}

/* Names are lent until the next image_names_defer(). */
void place_find(struct image_names *names, struct processes *processes, const struct user_pc *pc,
		struct user_place *ret);
