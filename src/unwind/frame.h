/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/frame.h - the frame that is known before an instruction, and the change that the
 * instruction makes. Pure: reads no code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/instruction.h"

enum frame_holds {
	FRAME_CALLERS, /* the register is as the caller left it */
	FRAME_POINTER, /* it is CFA - depth */
	FRAME_OTHER,
};

#define FRAME_NOT_KNOWN (-1)

/* Distances are below the CFA. */
struct frame {
	int32_t depth;    /* of rsp; or FRAME_NOT_KNOWN */
	int32_t bp_depth; /* of rbp, where it is FRAME_POINTER */
	int32_t bp_saved; /* there the caller's rbp lies; 0: nowhere */
	int32_t bx_saved;
	int32_t end_depth; /* of @end_reg, which is not REGISTER_NONE: stacks are probed up to it */
	uint8_t bp, bx;    /* enum frame_holds */
	uint8_t pc_reg;    /* the return address was popped to it; else REGISTER_NONE */
	uint8_t end_reg;
};

/* At a function's first instruction. */
struct frame frame_at_entry(void);

/*
 * Change @f to the frame behind @i, which goes on with the next instruction. False: compilers do
 * not make such a frame, or @i ends the run. Then @f is undefined.
 */
bool frame_step(struct frame *f, const struct instruction *i);

/* Where a branch compared rsp with the register that says where probing ends, and they are equal.
 */
void frame_end_probing(struct frame *f);

/* Behind a call. */
bool frame_step_call(struct frame *f);

/* The frame where paths with @a and @b meet. */
struct frame frame_merge(const struct frame *a, const struct frame *b);

bool frame_is_same(const struct frame *a, const struct frame *b);

/* As at the entry: here a function may return, or go on in another. */
bool frame_is_clean(const struct frame *f);

/* A gap where nothing leads to the CFA. */
struct cfi_row frame_row(const struct frame *f, uint64_t vaddr);
