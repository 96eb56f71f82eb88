/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/lines.h - source lines and inlined functions of an address, by the DWARF of a file or of its
 * debug file. The first question reads the list of units, and each unit is read when needed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

/* A function, and the source line where it is at an address. Strings are lent by the image. */
struct image_call {
	const char *name; /* mangled if possible; NULL: not inlined, the function itself */
	const char *file; /* the path that the compiler got; NULL, with @line 0: not known */
	uint32_t line;
};

/*
 * The functions that @vaddr lies in, innermost first: the inlined ones, and last the one that
 * image_function_at() names. Returns their number, at most @most; 0: no DWARF has them.
 */
size_t image_calls_at(struct image *im, uint64_t vaddr, struct image_call *to, size_t most);
