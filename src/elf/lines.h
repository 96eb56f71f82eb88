/*
 * elf/lines.h - where in the source code is from, and what was inlined there, by the DWARF of
 * a file or of its debug file. Nothing of it is read before it is asked for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

/* A function at some place in it. Strings are lent by the image. */
struct image_call {
	const char
		*name; /* of an inlined one, mangled where it can be; NULL: the function itself */
	const char *file; /* as the compiler was told; NULL: not known, as @line is 0 then */
	uint32_t line;
};

/*
 * The functions that @vaddr lies in, innermost first: those that were inlined there, and last the
 * one that image_function_at() names. Returns how many, at most @most; 0: no DWARF tells.
 */
size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most);
