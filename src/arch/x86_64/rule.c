// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Turn a row of CFI into a rule of 8 bytes. arch/walk.h has the kinds of rules, which cover the
 * rows of real files. Other rows become UNWIND_UNFIT.
 */
#include "arch/arch.h"
#include "base/array.h"

static bool is_saved_by_bp(const struct cfi_value *v)
{
	return v->how == CFI_AT && v->reg == CFI_RBP;
}

/* Is it the row of the kernel's signal frame? All values lie relative to rsp, at the ucontext. */
static bool is_linux_signal(const struct cfi_row *row)
{
	const struct {
		const struct cfi_value *value;
		int64_t offset;
	} wanted[] = { { &row->cfa, 160 },
		       { &row->sp, 160 },
		       { &row->pc, 168 },
		       { &row->fp, 120 },
		       { &row->third, 128 } };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct cfi_value *v = wanted[i].value;

		if (v->how != CFI_AT || v->reg != CFI_RSP || v->offset != wanted[i].offset)
			return false;
	}
	return true;
}

/* The kind of rule for a CFA; UNWIND_NO_ROW: there is none. */
static enum unwind_kind kind_of_cfa(const struct cfi_value *cfa, bool is_by_bp)
{
	switch (cfa->how) {
	case CFI_IS:
		return is_by_bp ? UNWIND_IS_BY_FP : UNWIND_IS;
	case CFI_AT:
		return is_by_bp ? UNWIND_AT_BY_FP : UNWIND_AT;
	case CFI_AT_PLUS:
		return cfa->plus == 8 && !is_by_bp ? UNWIND_AT_8 : UNWIND_NO_ROW;
	case CFI_PLT:
		return is_by_bp ? UNWIND_NO_ROW : UNWIND_PLT;
	default:
		return UNWIND_NO_ROW;
	}
}

/*
 * The place of a saved register, in words from the base. 0: unchanged; @limit: lost. False: a rule
 * cannot express it.
 */
static bool words_of_register(const struct cfi_value *v, bool is_by_bp, int limit, int *ret)
{
	*ret = 0;
	if (v->how == CFI_SAME)
		return true;
	if (v->how == CFI_UNDEFINED) {
		*ret = limit;
		return true;
	}
	if (is_by_bp ? !is_saved_by_bp(v) : v->how != CFI_AT_CFA)
		return false;
	if (v->offset % 8 || v->offset / 8 <= limit || v->offset / 8 >= -limit)
		return false;
	*ret = (int)(v->offset / 8);
	return true;
}

struct unwind_rule arch_rule_of(const struct cfi_row *row)
{
	bool is_by_bp = is_saved_by_bp(&row->fp);
	bool is_pc_in = row->pc.how == CFI_IN;
	enum unwind_kind kind = kind_of_cfa(&row->cfa, is_by_bp);
	const struct unwind_rule unfit = { .how = UNWIND_UNFIT };
	uint8_t reg = row->cfa.reg;
	int bp, bx;

	if (row->kind == CFI_GAP)
		return (struct unwind_rule){};
	if (row->kind == CFI_FRAMES)
		return UNWIND_FRAME_POINTERS;
	if (row->kind != CFI_ROW)
		return unfit;
	if (row->pc.how == CFI_UNDEFINED)
		return (struct unwind_rule){ .how = UNWIND_HOW(UNWIND_OUTERMOST, 0) };
	if (row->is_signal && is_linux_signal(row))
		return (struct unwind_rule){ .how = UNWIND_SIGNAL };
	if (kind == UNWIND_NO_ROW || (row->is_signal && kind != UNWIND_IS) ||
	    row->cfa.offset != (int32_t)row->cfa.offset)
		return unfit;
	if (is_pc_in ? kind != UNWIND_IS || reg != CFI_RSP || row->is_signal
		     : row->pc.how != CFI_AT_CFA || row->pc.offset != -8)
		return unfit;
	if (row->sp.how != CFI_IS_CFA || row->sp.offset ||
	    !words_of_register(&row->fp, is_by_bp, UNWIND_FP_LOST, &bp) ||
	    (!bp && !is_by_bp && row->fp.how != CFI_SAME) || (kind == UNWIND_PLT && bp))
		return unfit;
	if (kind == UNWIND_PLT)
		bp = row->cfa.plus;
	if (!words_of_register(&row->third, is_by_bp, UNWIND_THIRD_LOST, &bx) ||
	    (!bx && row->third.how != CFI_SAME))
		bx = UNWIND_THIRD_LOST;
	if (row->is_signal || row->is_cloned)
		kind = row->is_signal ? UNWIND_PUSHED : UNWIND_CLONED;
	return (struct unwind_rule){
		.offset = (__s32)row->cfa.offset,
		.fp = (__s16)bp,
		.third = (__s8)bx,
		.how = is_pc_in ? UNWIND_HOW(UNWIND_PC_IN, row->pc.reg) : UNWIND_HOW(kind, reg),
	};
}
