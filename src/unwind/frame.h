/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/frame.h - the frame before an instruction, as far as we know it, and the change that the
 * instruction makes. Pure: reads no code. For architectures whose calls push the return address, so
 * that it is at CFA - 8 (ARCH_CALL_PUSHES).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "unwind/cfi.h"

enum frame_holds {
	FRAME_CALLERS, /* the register is as the caller left it */
	FRAME_POINTER, /* it is CFA - fp_depth */
	FRAME_OTHER,
};

#define FRAME_NOT_KNOWN (-1)

/* Depths are distances below the CFA, in bytes. */
struct frame {
	int32_t depth;       /* of the stack pointer; or FRAME_NOT_KNOWN */
	int32_t fp_depth;    /* of the frame pointer, if the register is FRAME_POINTER */
	int32_t fp_saved;    /* of the caller's frame pointer, saved; 0: it is not */
	int32_t third_saved; /* likewise, for the third register */
	int32_t end_depth;   /* of @end_reg */
	uint8_t fp, third;   /* enum frame_holds */
	uint8_t end_reg;     /* the end of a loop that probes the stack, or REGISTER_NONE */
};

/* The frame at a function's first instruction. */
struct frame frame_at_entry(void);

/*
 * Change @f to the frame after @i. False: compilers make no such instruction or frame. Then @f is
 * undefined.
 */
bool frame_step(struct frame *f, const struct instruction *i);

/* Change @f after a loop that probes the stack: the stack pointer is equal to @end_reg. */
void frame_end_probing(struct frame *f);

/* The frame where paths with @a and @b meet. */
struct frame frame_merge(const struct frame *a, const struct frame *b);

bool frame_is_same(const struct frame *a, const struct frame *b);

/* Is the frame as at the entry, so that the function may return or jump to another one? */
bool frame_is_clean(const struct frame *f);

/* The row of a frame at @vaddr. A gap if nothing leads to the CFA. */
struct cfi_row frame_row(const struct frame *f, uint64_t vaddr);
