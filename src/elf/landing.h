/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/landing.h - where do exceptions land? By .eh_frame and .gcc_except_table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct image;

/* A function, or a part of one, as .eh_frame has it: [start, end). */
struct image_frame {
	uint64_t start;
	uint64_t end;
	uint64_t pads;     /* the address of its table of landing pads; 0: it has none */
	bool is_uncertain; /* it may have such a table, whose place is not known */
};

/* The entry that @vaddr lies in. False: .eh_frame has none. */
bool image_frame_at(struct image *im, uint64_t vaddr, struct image_frame *ret);

/* An exception that a call in [from, to) throws comes to @pad. */
struct landing_pad {
	uint64_t from;
	uint64_t to;
	uint64_t pad;
};

/*
 * Call @visit for each landing pad of @frame. False: the table makes no sense, or its form is not
 * known.
 */
typedef void landing_visit(void *context, const struct landing_pad *pad);
bool image_each_landing_pad(const struct image *im, const struct image_frame *frame,
			    landing_visit *visit, void *context);
