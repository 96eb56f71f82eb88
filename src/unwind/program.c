// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Run the programs of CFI. A CIE's program sets the state at the first instruction of its
 * functions. An FDE's program changes it:
 *
 *	advance_loc 1;  def_cfa_offset 16;  offset 6 -16;     after a push of register 6
 *	advance_loc 3;  def_cfa_register 6;                   after it has become the frame pointer
 *
 * We read each byte once, so the time is proportional to their number.
 */
#include "unwind/program.h"

#include "arch/arch.h"

/* DW_CFA_*; the first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_HIGH_BITS = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_LOC1,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

#define MAX_REMEMBERED 16 /* compilers nest them once or twice */

struct machine {
	const struct cfi_cie *cie;
	struct cursor code;
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	unsigned n_remembered;
	bool is_bad;
	uint64_t pc;
};

static struct cfi_value *value_of_column(struct cfi_state *s, uint64_t reg)
{
	switch (reg) {
	case CFI_THIRD:
		return &s->third;
	case CFI_FP:
		return &s->fp;
	case CFI_SP:
		return &s->sp;
	case CFI_RETURN_ADDRESS:
		return &s->pc;
	default:
		return &s->other;
	}
}

static int64_t multiply_wrapping(uint64_t n, int64_t factor)
{
	return (int64_t)(n * (uint64_t)factor);
}

static struct cfi_value cfi_value_of(enum cfi_how how, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_N_REGISTERS)
		return (struct cfi_value){ .how = CFI_OTHER };
	return (struct cfi_value){ .how = (uint8_t)how, .reg = (uint8_t)reg, .offset = offset };
}

static void set_register(struct machine *m, uint64_t reg, enum cfi_how how, int64_t offset)
{
	*value_of_column(&m->state, reg) = cfi_value_of(how, 0, offset);
}

static void restore_register(struct machine *m, uint64_t reg)
{
	struct cfi_state initial = m->cie->initial;

	*value_of_column(&m->state, reg) = *value_of_column(&initial, reg);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->state.cfa = cfi_value_of(CFI_IS, reg, offset);
	m->state.cfa_offset = offset;
}

/* Change the offset alone. This makes no sense if the CFA is an expression. */
static void set_cfa_offset(struct machine *m, int64_t offset)
{
	if (m->state.cfa.how != CFI_IS)
		m->is_bad = true;
	set_cfa(m, m->state.cfa.reg, offset);
}

static struct cfi_value read_expression(struct cursor *c, bool is_address)
{
	uint64_t size = cursor_uleb(c);
	const uint8_t *code = cursor_skip(c, size);

	return code ? cfi_expression(code, size, is_address)
		    : (struct cfi_value){ .how = CFI_OTHER };
}

/*
 * Do an operation on the CFA. False: @op is none. If DEF_CFA_REGISTER follows an expression, it
 * means the last offset (in libgcrypt's SHA-512; libgcc reads it so, too).
 */
static bool do_cfa(struct machine *m, uint8_t op)
{
	int64_t factor = m->cie->data_factor;
	struct cursor *c = &m->code;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(c);
		set_cfa(m, reg, (int64_t)cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(c);
		set_cfa(m, reg, multiply_wrapping((uint64_t)cursor_sleb(c), factor));
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(m, cursor_uleb(c), m->state.cfa_offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(m, (int64_t)cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(m, multiply_wrapping((uint64_t)cursor_sleb(c), factor));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		m->state.cfa = read_expression(c, false);
		return true;
	default:
		return false;
	}
}

/* Do an operation on a register. False: @op is none. */
static bool do_register(struct machine *m, uint8_t op, uint64_t reg)
{
	int64_t factor = m->cie->data_factor;
	struct cursor *c = &m->code;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_register(m, reg, CFI_AT_CFA, multiply_wrapping(cursor_uleb(c), factor));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		set_register(m, reg, CFI_AT_CFA,
			     multiply_wrapping((uint64_t)cursor_sleb(c), factor));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_register(m, reg, CFI_AT_CFA, multiply_wrapping(0 - cursor_uleb(c), factor));
		return true;
	case CFA_VAL_OFFSET:
		set_register(m, reg, CFI_IS_CFA, multiply_wrapping(cursor_uleb(c), factor));
		return true;
	case CFA_VAL_OFFSET_SF:
		set_register(m, reg, CFI_IS_CFA,
			     multiply_wrapping((uint64_t)cursor_sleb(c), factor));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore_register(m, reg);
		return true;
	case CFA_UNDEFINED:
		set_register(m, reg, CFI_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_register(m, reg, CFI_SAME, 0);
		return true;
	case CFA_REGISTER:
		*value_of_column(&m->state, reg) = cfi_value_of(CFI_IN, cursor_uleb(c), 0);
		return true;
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		*value_of_column(&m->state, reg) = read_expression(c, op == CFA_EXPRESSION);
		return true;
	default:
		return false;
	}
}

static void do_operation(struct machine *m, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER_STATE:
		if (m->n_remembered == MAX_REMEMBERED)
			m->is_bad = true;
		else
			m->remembered[m->n_remembered++] = m->state;
		return;
	case CFA_RESTORE_STATE:
		if (!m->n_remembered)
			m->is_bad = true;
		else
			m->state = m->remembered[--m->n_remembered];
		return;
	case CFA_GNU_ARGS_SIZE:
		(void)cursor_uleb(&m->code);
		return;
	default:
		if (!do_cfa(m, op) && !do_register(m, op, cursor_uleb(&m->code)))
			m->is_bad = true;
	}
}

/* Advance the address. False: @op does not advance. */
static bool do_advance(struct machine *m, uint8_t op)
{
	uint64_t by;

	if ((op & CFA_HIGH_BITS) == CFA_ADVANCE_LOC)
		by = op & ~CFA_HIGH_BITS;
	else if (op == CFA_ADVANCE_LOC1)
		by = cursor_uint(&m->code, 1);
	else if (op == CFA_ADVANCE_LOC2)
		by = cursor_uint(&m->code, 2);
	else if (op == CFA_ADVANCE_LOC4)
		by = cursor_uint(&m->code, 4);
	else
		return false;
	if (__builtin_mul_overflow(by, m->cie->code_factor, &by) ||
	    __builtin_add_overflow(m->pc, by, &m->pc))
		m->pc = UINT64_MAX;
	return true;
}

/* Do an operation that does not advance. */
static void do_state(struct machine *m, uint8_t op)
{
	if ((op & CFA_HIGH_BITS) == CFA_OFFSET)
		set_register(m, op & ~CFA_HIGH_BITS, CFI_AT_CFA,
			     multiply_wrapping(cursor_uleb(&m->code), m->cie->data_factor));
	else if ((op & CFA_HIGH_BITS) == CFA_RESTORE)
		restore_register(m, op & ~CFA_HIGH_BITS);
	else
		do_operation(m, op);
	if (m->code.is_spent)
		m->is_bad = true;
}

static int visit_machine_row(const struct machine *m, uint64_t vaddr, cfi_visit *visit,
			     void *context)
{
	const struct cfi_row row = {
		.vaddr = vaddr,
		.kind = m->is_bad ? CFI_BAD : CFI_ROW,
		.is_signal = m->cie->is_signal,
		.is_cloned = m->cie->is_cloned,
		.cfa = m->state.cfa,
		.third = m->state.third,
		.fp = m->state.fp,
		.sp = m->state.sp,
		.pc = m->state.pc,
	};

	return visit(context, &row);
}

static void start_machine(struct machine *m, const struct cfi_cie *cie, const uint8_t *code,
			  size_t size)
{
	m->cie = cie;
	m->code = (struct cursor){ .at = code, .end = code + size };
	m->state = cie->initial;
	m->n_remembered = 0;
	m->is_bad = false;
	m->pc = 0;
}

bool cfi_run_initial(struct cfi_cie *cie, const uint8_t *program, size_t size)
{
	struct machine m;

	/*
	 * By the ABI, the callee preserves the frame pointer and the third register, and the
	 * caller's stack pointer is the CFA.
	 */
	cie->initial = (struct cfi_state){
		.cfa.how = CFI_OTHER,
		.pc.how = ARCH_RETURN_HOW,
		.sp.how = CFI_IS_CFA,
	};
	start_machine(&m, cie, program, size);
	while (m.code.at < m.code.end && !m.is_bad) {
		uint8_t op = *m.code.at++;

		if (do_advance(&m, op))
			return false;
		do_state(&m, op);
	}
	cie->initial = m.state;
	return !m.is_bad;
}

int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t end, cfi_visit *visit,
	    void *context)
{
	struct machine m;

	start_machine(&m, cie, fde->program, fde->program_bytes);
	m.pc = fde->start;
	while (m.code.at < m.code.end && !m.is_bad && m.pc < end) {
		uint8_t op = *m.code.at++;
		uint64_t from = m.pc;

		if (!do_advance(&m, op)) {
			do_state(&m, op);
		} else if (m.pc > from) {
			int err = visit_machine_row(&m, from, visit, context);
			if (err)
				return err;
		}
		if (m.code.is_spent)
			m.is_bad = true;
	}
	return m.pc < end ? visit_machine_row(&m, m.pc, visit, context) : 0;
}
