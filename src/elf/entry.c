// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find _start and main of a stripped program. Its header gives _start, and _start passes main to
 * libc as the first argument. musl's _start passes its stack to _start_c, which passes main. The
 * architecture knows the instructions that known libcs have there. Any other one ends the search:
 * the _start is of no known libc, and its main gets no name.
 *
 * A library's header may name any entry. So a library's _start must look like one of these, or like
 * that of glibc's dynamic linker, which passes the stack, too.
 */
#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/entry.h"
#include "elf/internal.h"

/* glibc's have 13 instructions, musl's 5 and 7. */
#define MOST_STEPS 24

/* The value of a slot, or 0. In a position-independent program, the dynamic linker writes it. */
static uint64_t read_slot(const struct image *im, uint64_t vaddr)
{
	const struct slice bytes = image_bytes_from(im, vaddr);
	uint64_t value = 0;

	if (im->is_fixed && bytes.size >= sizeof(value))
		memcpy(&value, bytes.data, sizeof(value));
	return value;
}

/* Go on to the call or jump to another function. */
static bool follow_start_code(const struct image *im, struct arch_start *s)
{
	for (int i = 0; i < MOST_STEPS; i++) {
		uint8_t code[ARCH_START_BYTES];
		const size_t n = image_code_at(im, s->vaddr, code, sizeof(code));
		const enum arch_start_step step = arch_follow_start(s, code, n);

		if (step != ARCH_START_GOES_ON)
			return step == ARCH_START_LEAVES;
		if (s->argument_at)
			s->argument = read_slot(im, s->argument_at);
	}
	return false;
}

/* The code from @start to its end by .eh_frame, or to @least if that is not known. */
static struct code_range range_of_function(const struct frames *frames, uint64_t start,
					   uint64_t least)
{
	const uint64_t end = frame_end_of(frames, start);

	return (struct code_range){ start, end > start ? end : least };
}

/* The end of the dynamic linker's _start: after the call, another function begins. 0: this is no
 * such _start. */
static uint64_t end_of_linkers_start(const struct image *im)
{
	uint8_t code[ARCH_LINKER_START_BYTES];
	const size_t n = image_code_at(im, im->entry, code, sizeof(code));
	const size_t bytes = im->has_64_bit_code ? arch_linker_start(code, n) : 0;

	return bytes ? im->entry + bytes : 0;
}

/* Set ret->start if this is no _start of a known libc's programs. */
static void find_other_start(const struct image *im, const struct frames *frames,
			     struct entry_points *ret)
{
	const uint64_t end = end_of_linkers_start(im);

	if (end)
		ret->start = (struct code_range){ im->entry, end };
	else if (im->is_fixed || dynamic_is_program(im))
		ret->start = range_of_function(frames, im->entry, im->entry + 1);
}

struct entry_points entry_points_of(const struct image *im, const struct frames *frames)
{
	struct entry_points found = {};
	struct arch_start s = { .vaddr = im->entry };
	uint8_t byte;

	if (!image_code_at(im, im->entry, &byte, 1))
		return found;
	if (!im->has_64_bit_code || !follow_start_code(im, &s) || !s.has_cleared ||
	    !s.has_aligned) {
		find_other_start(im, frames, &found);
		return found;
	}
	found.start = range_of_function(frames, im->entry, s.vaddr);
	if (s.argument_is_stack) {
		s.vaddr = s.target;
		if (!s.target || !follow_start_code(im, &s))
			return found;
	}
	if (s.argument && image_code_at(im, s.argument, &byte, 1))
		found.main = range_of_function(frames, s.argument, s.argument + 1);
	return found;
}

static bool range_holds(const struct code_range *range, uint64_t vaddr)
{
	return vaddr >= range->start && vaddr < range->end;
}

bool entry_function_at(const struct entry_points *p, uint64_t vaddr, struct image_symbol *ret)
{
	const bool is_main = range_holds(&p->main, vaddr);
	const struct code_range *range = is_main ? &p->main : &p->start;

	if (!range_holds(range, vaddr))
		return false;
	*ret = (struct image_symbol){ .name = is_main ? "main" : "_start",
				      .vaddr = range->start,
				      .size = range->end - range->start,
				      .is_global = true };
	return true;
}
