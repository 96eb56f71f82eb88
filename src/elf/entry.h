/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/entry.h - _start and main of a program without symbols. For elf/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/image.h"

struct frames;

/* Empty where it is not known. */
struct entry_points {
	struct code_range start; /* _start, where the file's header says */
	struct code_range main;  /* which that hands to libc */
};

struct entry_points entry_points_of(const struct image *im, const struct frames *frames);

bool entry_function_at(const struct entry_points *p, uint64_t vaddr, struct image_symbol *ret);
