/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/place.h - an address of a process, with its place and its function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/processes.h"
#include "symbolize/image_names.h"
#include "symbolize/jit.h"
#include "symbolize/symbolize.h"

struct user_place {
	bool is_mapped; /* else where.image is IMAGE_NONE, and the rest of @where is not valid */
	struct place where;
	uint64_t addr;
	uint64_t at;             /* the address that was looked up, from place_look_up_at() */
	bool has_places;         /* image_names_has_places() */
	bool is_put_off;         /* the name is put off: image_names_defer() */
	struct file_place place; /* from the file's symbols */
	struct jit_function
		made; /* from a perf map, if it has a name; @place has no function then */
};

/*
 * All look-ups of return addresses use this function. A return address is where the call ends.
 * After a call that does not return, another function may begin there. place_find() handles
 * addresses that no call has put on the stack.
 */
static inline uint64_t place_look_up_at(uint64_t addr, bool is_exact)
{
	return is_exact || addr == 0 ? addr : addr - 1;
}

/* Names are lent until the next image_names_defer(). */
void place_find(struct image_names *names, struct processes *processes, const struct user_pc *pc,
		struct user_place *ret);
