/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/frames.h - functions by .eh_frame and .debug_frame, and where exceptions land.
 *
 * An FDE is the entry of a function, or of a part of one. A CIE is what several FDEs share:
 *
 *	CIE   length  0     version "zR" code_factor data_factor 16  augmentation data  program
 *	FDE   length  back  start bytes  augmentation data  program
 *
 * In .eh_frame, @back leads from its own place to the CIE. .debug_frame has the CIE's offset there,
 * and ~0 in CIEs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/cursor.h"
#include "elf/image.h"

/* Either section. Lent by the image. */
struct fde_section {
	struct image_section bytes;
	bool is_debug; /* .debug_frame */
	size_t address_bytes;
};

/* False: the file has no such section. */
bool fde_section_of(const struct image *im, bool is_debug, struct fde_section *ret);

/* A CIE or an FDE. */
struct fde_entry {
	size_t offset; /* in its section */
	bool is_cie;
	uint64_t cie; /* of an FDE: the offset of its CIE, where there may be none */
	struct cursor body;
};

/*
 * Read the next entry. False: the section ends, or the bytes are no entry, which marks @c as spent.
 */
bool fde_next_entry(const struct fde_section *s, struct cursor *c, struct fde_entry *ret);

struct cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t encoding;      /* of addresses in its FDEs */
	uint8_t pads_encoding; /* likewise, of the address of landing pads */
	bool has_augmentation; /* its FDEs have augmentation data, which begins with its length */
	bool is_signal;
	struct cursor program;
};

/* False: it makes no sense, or is of an unknown kind. */
bool cie_read(const struct fde_section *s, const struct fde_entry *entry, struct cie *ret);

/* An FDE: a function or a part of one, [start, end). */
struct image_frame {
	uint64_t start;
	uint64_t end;
	uint64_t pads;     /* the address of its table of landing pads; 0: it has none */
	bool is_uncertain; /* it may have such a table, whose place is not known */
	struct cursor program;
};

/* @cie is the entry's. False: it makes no sense. */
bool fde_read(const struct fde_section *s, const struct fde_entry *entry, const struct cie *cie,
	      struct image_frame *ret);

/* The FDE of .eh_frame that @vaddr lies in. False: there is none that can be read. */
bool image_frame_at(struct image *im, uint64_t vaddr, struct image_frame *ret);

/*
 * Call @visit for each landing pad of @frame: an exception that a call in [from, to) throws comes
 * to @pad. False: the table makes no sense, or its form is not known.
 */
typedef void landing_visit(void *context, uint64_t from, uint64_t to, uint64_t pad);
bool image_each_landing_pad(const struct image *im, const struct image_frame *frame,
			    landing_visit *visit, void *context);
