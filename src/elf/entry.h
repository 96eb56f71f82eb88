/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/entry.h - find _start and main of a program without symbols. For elf/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/image.h"

struct frames;

/* The code of both functions. A range is empty if it is not known. */
struct entry_points {
	struct code_range start; /* _start, at the entry point of the file's header */
	struct code_range main;  /* the function that _start passes to libc */
};

struct entry_points entry_points_of(const struct image *im, const struct frames *frames);

/* The one of both that @vaddr lies in. */
bool entry_function_at(const struct entry_points *p, uint64_t vaddr, struct image_symbol *ret);
