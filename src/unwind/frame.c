// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unwind/frame.h"

#define MAX_DEPTH (1 << 28)

struct frame frame_at_entry(void)
{
	return (struct frame){ .depth = 8, .end_reg = REGISTER_NONE };
}

/* Forget a saved register below the stack pointer, because a signal handler may overwrite it at any
 * time. */
static bool set_depth(struct frame *f, int64_t depth)
{
	if (depth % 8 || depth > MAX_DEPTH || depth < 8)
		return false;
	f->depth = (int32_t)depth;
	if (f->fp_saved > depth)
		f->fp_saved = 0;
	if (f->third_saved > depth)
		f->third_saved = 0;
	return true;
}

static bool move_sp(struct frame *f, int64_t by)
{
	if (f->depth == FRAME_NOT_KNOWN)
		return true;
	return by < MAX_DEPTH && by > -MAX_DEPTH && set_depth(f, f->depth - by);
}

/* The depth of @base + @value. False: not known. */
static bool depth_of(const struct frame *f, uint8_t base, int64_t value, int64_t *ret)
{
	int64_t depth = FRAME_NOT_KNOWN;

	if (base == REGISTER_SP)
		depth = f->depth;
	else if (base == REGISTER_FP && f->fp == FRAME_POINTER)
		depth = f->fp_depth;
	*ret = depth - value;
	return depth != FRAME_NOT_KNOWN && value < MAX_DEPTH && value > -MAX_DEPTH;
}

static void write_register(struct frame *f, uint8_t reg)
{
	if (reg == REGISTER_SP)
		f->depth = FRAME_NOT_KNOWN;
	if (reg == REGISTER_FP)
		f->fp = FRAME_OTHER;
	if (reg == REGISTER_THIRD)
		f->third = FRAME_OTHER;
	if (reg == f->end_reg)
		f->end_reg = REGISTER_NONE;
}

static bool overlaps_saved(int64_t depth, uint32_t bytes, int32_t saved)
{
	return saved && depth > saved - 8 && depth < (int64_t)saved + bytes;
}

/* Compilers save a register by a push, and some by a move to its place on the stack. */
static void save_by_store(const struct instruction *i, int64_t depth, uint8_t reg, uint8_t holds,
			  int32_t *saved)
{
	const bool is_saved = i->store_reg == reg && holds == FRAME_CALLERS;

	if (overlaps_saved(depth, i->store_bytes, *saved) && !(is_saved && depth == *saved))
		*saved = 0;
	if (is_saved && !*saved)
		*saved = (int32_t)depth;
}

static bool apply_store(struct frame *f, const struct instruction *i)
{
	int64_t depth;

	if (!i->store_bytes || !depth_of(f, i->store_base, i->store_value, &depth))
		return true;
	if (overlaps_saved(depth, i->store_bytes, 8))
		return false;
	if (depth <= 8 || (f->depth != FRAME_NOT_KNOWN && depth > f->depth))
		return true;
	save_by_store(i, depth, REGISTER_FP, f->fp, &f->fp_saved);
	save_by_store(i, depth, REGISTER_THIRD, f->third, &f->third_saved);
	return true;
}

static bool push_register(struct frame *f, uint8_t reg)
{
	if (f->depth == FRAME_NOT_KNOWN)
		return true;
	if (!set_depth(f, f->depth + 8L))
		return false;
	if (reg == REGISTER_FP && f->fp == FRAME_CALLERS && !f->fp_saved)
		f->fp_saved = f->depth;
	if (reg == REGISTER_THIRD && f->third == FRAME_CALLERS && !f->third_saved)
		f->third_saved = f->depth;
	return true;
}

/* Load @reg from @depth. */
static void load_saved(struct frame *f, uint8_t reg, int64_t depth)
{
	write_register(f, reg);
	if (reg == REGISTER_FP && f->fp_saved && depth == f->fp_saved)
		f->fp = FRAME_CALLERS;
	if (reg == REGISTER_THIRD && f->third_saved && depth == f->third_saved)
		f->third = FRAME_CALLERS;
}

static bool pop_register(struct frame *f, uint8_t reg)
{
	load_saved(f, reg, f->depth);
	return move_sp(f, 8);
}

/* Set register @i->reg to base + value. */
static bool assign_register(struct frame *f, const struct instruction *i)
{
	int64_t depth;
	const bool is_known = depth_of(f, i->base, i->value, &depth) && depth < MAX_DEPTH;

	write_register(f, i->reg);
	if (!is_known)
		return true;
	if (i->reg == REGISTER_SP)
		return set_depth(f, depth);
	if (depth < 0)
		return true;
	if (i->reg == REGISTER_FP) {
		f->fp = FRAME_POINTER;
		f->fp_depth = (int32_t)depth;
	} else if (i->kind == INSTRUCTION_LEA && i->reg != REGISTER_THIRD) {
		f->end_reg = i->reg;
		f->end_depth = (int32_t)depth;
	}
	return true;
}

static bool leave_frame(struct frame *f)
{
	int64_t depth;
	const bool is_known = depth_of(f, REGISTER_FP, 0, &depth);

	f->depth = FRAME_NOT_KNOWN;
	if (is_known && !set_depth(f, depth))
		return false;
	return pop_register(f, REGISTER_FP);
}

bool frame_step(struct frame *f, const struct instruction *i)
{
	int64_t depth;

	if (!apply_store(f, i))
		return false;
	switch (i->kind) {
	case INSTRUCTION_PUSH:
		return push_register(f, i->reg);
	case INSTRUCTION_POP:
		return pop_register(f, i->reg);
	case INSTRUCTION_ADD:
		return move_sp(f, i->value);
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LEA:
		return assign_register(f, i);
	case INSTRUCTION_LOAD:
		if (!depth_of(f, i->base, i->value, &depth))
			depth = FRAME_NOT_KNOWN;
		load_saved(f, i->reg, depth);
		return true;
	case INSTRUCTION_LEAVE:
		return leave_frame(f);
	case INSTRUCTION_BAD:
		return false;
	default:
		for (uint8_t reg = 0; reg < REGISTER_NONE; reg++)
			if (i->writes >> reg & 1)
				write_register(f, reg);
		return true;
	}
}

void frame_end_probing(struct frame *f)
{
	if (f->end_reg != REGISTER_NONE)
		(void)set_depth(f, f->end_depth);
}

struct frame frame_merge(const struct frame *a, const struct frame *b)
{
	struct frame f = *a;

	if (a->depth != b->depth)
		f.depth = FRAME_NOT_KNOWN;
	if (a->fp != b->fp || (a->fp == FRAME_POINTER && a->fp_depth != b->fp_depth))
		f.fp = FRAME_OTHER;
	if (a->third != b->third)
		f.third = FRAME_OTHER;
	if (a->fp_saved != b->fp_saved)
		f.fp_saved = 0;
	if (a->third_saved != b->third_saved)
		f.third_saved = 0;
	if (a->end_reg != b->end_reg || a->end_depth != b->end_depth)
		f.end_reg = REGISTER_NONE;
	if (f.fp != FRAME_POINTER)
		f.fp_depth = 0;
	if (f.end_reg == REGISTER_NONE)
		f.end_depth = 0;
	return f;
}

bool frame_is_same(const struct frame *a, const struct frame *b)
{
	return a->depth == b->depth && a->fp == b->fp && a->third == b->third &&
	       a->fp_saved == b->fp_saved && a->third_saved == b->third_saved &&
	       a->end_reg == b->end_reg && (a->fp != FRAME_POINTER || a->fp_depth == b->fp_depth) &&
	       (a->end_reg == REGISTER_NONE || a->end_depth == b->end_depth);
}

bool frame_is_clean(const struct frame *f)
{
	return f->depth == 8 && f->fp == FRAME_CALLERS && f->third == FRAME_CALLERS;
}

static struct cfi_value value_of_saved(uint8_t holds, int32_t saved)
{
	if (saved)
		return (struct cfi_value){ .how = CFI_AT_CFA, .offset = -saved };
	return (struct cfi_value){ .how = holds == FRAME_CALLERS ? CFI_SAME : CFI_UNDEFINED };
}

/* The CFA is relative to the frame pointer if that is the usual frame pointer, as in compilers'
 * CFI. */
struct cfi_row frame_row(const struct frame *f, uint64_t vaddr)
{
	const bool by_fp = f->fp == FRAME_POINTER && (f->depth == FRAME_NOT_KNOWN ||
						      (f->fp_depth == 16 && f->fp_saved == 16));
	struct cfi_row row = {
		.vaddr = vaddr,
		.cfa = { .how = CFI_IS,
			 .reg = by_fp ? CFI_FP : CFI_SP,
			 .offset = by_fp ? f->fp_depth : f->depth },
		.third = value_of_saved(f->third, f->third_saved),
		.fp = value_of_saved(f->fp, f->fp_saved),
		.sp = { .how = CFI_IS_CFA },
		.pc = { .how = CFI_AT_CFA, .offset = -8 }, /* ARCH_CALL_PUSHES */
	};

	if (!by_fp && f->depth == FRAME_NOT_KNOWN)
		return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_GAP };
	return row;
}
