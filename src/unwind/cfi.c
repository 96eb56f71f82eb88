// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Read the entries of .eh_frame and .debug_frame (elf/frames.h) and run their programs. A program
 * may have both: with -fno-asynchronous-unwind-tables -g, its own code is in .debug_frame, and
 * linked code of the C library in .eh_frame.
 */
#include "unwind/table.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "elf/cursor.h"
#include "elf/frames.h"
#include "unwind/private.h"

/* --- expressions --- */

/*
 * The DWARF expressions in CFI. Toolchains and hand-written assembly use these:
 *
 *	breg6 -8; deref                       the CFA of a realigned stack (gcc)
 *	breg7 +56; deref; plus_uconst 8       the same (OpenSSL)
 *	breg7 +160                            registers in signal frames (glibc)
 *
 * and an architecture's own in stubs of PLTs. An unwind table has no room for programs. So this
 * recognizes these forms, and all others are CFI_OTHER.
 */
#define OP_BREG_LAST (DW_OP_breg0 + CFI_N_REGISTERS - 1)

/* The sum of the constants that follow. */
static int64_t read_plus(struct cursor *c)
{
	int64_t plus = 0;

	while (c->at < c->end && *c->at == DW_OP_plus_uconst) {
		c->at++;
		plus += (int64_t)(cursor_uleb(c) & INT32_MAX);
	}
	return plus;
}

/* The value of an expression of a known form. @is_address: the value is memory at its result. */
static struct cfi_value cfi_expression(const uint8_t *code, size_t size, bool is_address)
{
	const struct cfi_value other = { .how = CFI_OTHER };
	struct cursor c = { .at = code, .end = code + size };
	struct cfi_value v = { .how = is_address ? CFI_AT : CFI_IS };
	uint8_t op = (uint8_t)cursor_uint(&c, 1);

	if (op < DW_OP_breg0 || op > OP_BREG_LAST)
		return other;
	v.reg = op - DW_OP_breg0;
	v.offset = cursor_sleb(&c);
	if (!is_address && !c.is_spent && arch_is_stub_expression(c.at, cursor_left(&c), &v.plus)) {
		v.how = CFI_PLT;
		return v;
	}
	v.offset += read_plus(&c);
	if (!is_address && c.at < c.end && *c.at == DW_OP_deref) {
		int64_t plus;

		c.at++;
		plus = read_plus(&c);
		v.how = plus ? CFI_AT_PLUS : CFI_AT;
		v.plus = (int32_t)plus;
		if (plus != v.plus)
			return other;
	}
	return c.is_spent || c.at != c.end ? other : v;
}

/* --- programs --- */

/*
 * Run the programs of CFI. A CIE's program sets the state at the first instruction of its
 * functions. An FDE's program changes it:
 *
 *	advance_loc 1;  def_cfa_offset 16;  offset 6 -16;     after a push of register 6
 *	advance_loc 3;  def_cfa_register 6;                   after it has become the frame pointer
 *
 * We read each byte once, so the time is proportional to their number.
 */
/* DW_CFA_advance_loc, DW_CFA_offset and DW_CFA_restore have an operand in the other bits. */
#define CFA_HIGH_BITS 0xc0

/* The state of a program. */
struct cfi_state {
	struct cfi_row row;
	struct cfi_value other; /* for all registers that do not matter */
	int64_t cfa_offset;     /* the last offset that an operation gave */
};

/* The common part of FDEs. */
struct cfi_cie {
	uint64_t offset; /* in its section */
	struct cie is;
	bool is_bad; /* we cannot read its FDEs */
	struct cfi_state initial;
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
		return &s->row.third;
	case CFI_FP:
		return &s->row.fp;
	case CFI_SP:
		return &s->row.sp;
	case CFI_RETURN_ADDRESS:
		return &s->row.pc;
	default:
		return &s->other;
	}
}

static struct cfi_value cfi_value_of(enum cfi_how how, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_N_REGISTERS)
		return (struct cfi_value){ .how = CFI_OTHER };
	return (struct cfi_value){ .how = (uint8_t)how, .reg = (uint8_t)reg, .offset = offset };
}

static struct cfi_value read_expression(struct cursor *c, bool is_address)
{
	uint64_t size = cursor_uleb(c);
	const uint8_t *code = cursor_skip(c, size);

	return code ? cfi_expression(code, size, is_address)
		    : (struct cfi_value){ .how = CFI_OTHER };
}

/* Read a number that counts in units of the CIE's factor. */
static int64_t read_factored(struct machine *m, bool is_signed)
{
	const uint64_t n = is_signed ? (uint64_t)cursor_sleb(&m->code) : cursor_uleb(&m->code);

	return (int64_t)(n * (uint64_t)m->cie->is.data_factor);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->state.row.cfa = cfi_value_of(CFI_IS, reg, offset);
	m->state.cfa_offset = offset;
}

/* Change the offset alone. This makes no sense if the CFA is an expression. */
static void set_cfa_offset(struct machine *m, int64_t offset)
{
	if (m->state.row.cfa.how != CFI_IS)
		m->is_bad = true;
	set_cfa(m, m->state.row.cfa.reg, offset);
}

/*
 * Do an operation on the CFA. False: @op is none. If DEF_CFA_REGISTER follows an expression, it
 * means the last offset (in libgcrypt's SHA-512; libgcc reads it so, too).
 */
static bool do_cfa(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->code;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_uleb(c);
		set_cfa(m, reg, (int64_t)cursor_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(c);
		set_cfa(m, reg, read_factored(m, true));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(m, cursor_uleb(c), m->state.cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(m, (int64_t)cursor_uleb(c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(m, read_factored(m, true));
		return true;
	case DW_CFA_def_cfa_expression:
		m->state.row.cfa = read_expression(c, false);
		return true;
	default:
		return false;
	}
}

/* Do an operation on register @reg. False: @op is none. */
static bool do_register(struct machine *m, uint8_t op, uint64_t reg)
{
	struct cfi_value *value = value_of_column(&m->state, reg);
	struct cfi_state initial;

	switch (op) {
	case DW_CFA_offset:
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		*value = cfi_value_of(CFI_AT_CFA, 0,
				      read_factored(m, op == DW_CFA_offset_extended_sf));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		*value = cfi_value_of(CFI_AT_CFA, 0,
				      (int64_t)(0 - (uint64_t)read_factored(m, false)));
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		*value = cfi_value_of(CFI_IS_CFA, 0, read_factored(m, op == DW_CFA_val_offset_sf));
		return true;
	case DW_CFA_restore:
	case DW_CFA_restore_extended:
		initial = m->cie->initial;
		*value = *value_of_column(&initial, reg);
		return true;
	case DW_CFA_undefined:
		*value = cfi_value_of(CFI_UNDEFINED, 0, 0);
		return true;
	case DW_CFA_same_value:
		*value = cfi_value_of(CFI_SAME, 0, 0);
		return true;
	case DW_CFA_register:
		*value = cfi_value_of(CFI_IN, cursor_uleb(&m->code), 0);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		*value = read_expression(&m->code, op == DW_CFA_expression);
		return true;
	default:
		return false;
	}
}

/* Do an operation that does not advance. */
static void do_state(struct machine *m, uint8_t op)
{
	bool is_known = true;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_remember_state:
		is_known = m->n_remembered < MAX_REMEMBERED;
		if (is_known)
			m->remembered[m->n_remembered++] = m->state;
		break;
	case DW_CFA_restore_state:
		is_known = m->n_remembered;
		if (is_known)
			m->state = m->remembered[--m->n_remembered];
		break;
	case DW_CFA_GNU_args_size:
		(void)cursor_uleb(&m->code);
		break;
	default:
		if (op & CFA_HIGH_BITS) /* OFFSET or RESTORE */
			is_known = do_register(m, op & CFA_HIGH_BITS, op & ~CFA_HIGH_BITS);
		else
			is_known = do_cfa(m, op) || do_register(m, op, cursor_uleb(&m->code));
	}
	m->is_bad |= !is_known || m->code.is_spent;
}

/* Advance the address. False: @op does not advance. */
static bool do_advance(struct machine *m, uint8_t op)
{
	uint64_t by;

	if ((op & CFA_HIGH_BITS) == DW_CFA_advance_loc)
		by = op & ~CFA_HIGH_BITS;
	else if (op == DW_CFA_advance_loc1)
		by = cursor_uint(&m->code, 1);
	else if (op == DW_CFA_advance_loc2)
		by = cursor_uint(&m->code, 2);
	else if (op == DW_CFA_advance_loc4)
		by = cursor_uint(&m->code, 4);
	else
		return false;
	if (__builtin_mul_overflow(by, m->cie->is.code_factor, &by) ||
	    __builtin_add_overflow(m->pc, by, &m->pc))
		m->pc = UINT64_MAX;
	return true;
}

static int visit_machine_row(struct machine *m, uint64_t vaddr, cfi_visit *visit, void *context)
{
	m->state.row.vaddr = vaddr;
	m->state.row.kind = m->is_bad ? CFI_BAD : CFI_ROW;
	return visit(context, &m->state.row);
}

static void start_machine(struct machine *m, const struct cfi_cie *cie, struct cursor code)
{
	m->cie = cie;
	m->code = code;
	m->state = cie->initial;
	m->n_remembered = 0;
	m->is_bad = false;
	m->pc = 0;
}

/* Run the CIE's program, and set the state at a function's first instruction. False: it makes no
 * sense. */
static bool cfi_run_initial(struct cfi_cie *cie)
{
	struct machine m;

	/*
	 * By the ABI, the callee preserves the frame pointer and the third register, and the
	 * caller's stack pointer is the CFA.
	 */
	cie->initial.row = (struct cfi_row){
		.is_signal = cie->is.is_signal,
		.cfa.how = CFI_OTHER,
		.pc.how = ARCH_RETURN_HOW,
		.sp.how = CFI_IS_CFA,
	};
	start_machine(&m, cie, cie->is.program);
	while (m.code.at < m.code.end && !m.is_bad) {
		uint8_t op = *m.code.at++;

		if (do_advance(&m, op))
			return false;
		do_state(&m, op);
	}
	cie->initial = m.state;
	return !m.is_bad;
}

/*
 * Run an FDE's program up to address @end, which may lie before the FDE's own end, and visit its
 * rows. Their addresses ascend strictly, from @fde's start on. Returns 0 or the result of @visit.
 */
static int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t end,
		   cfi_visit *visit, void *context)
{
	struct machine m;

	start_machine(
		&m, cie,
		(struct cursor){ .at = fde->program, .end = fde->program + fde->program_bytes });
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

/* --- entries --- */

struct reader {
	struct image *im;
	struct fde_section section;
	bool is_any; /* the file has one of the two sections */
	struct cfi_cie *cies;
	size_t n_cies, cies_capacity;
	size_t first_cie; /* the first one of this section, by ascending offset */
	struct cfi_fde *fdes;
	size_t n_fdes, fdes_capacity;
	struct flow derived;
};

static void cfi_reader_fini(struct reader *r)
{
	free(r->cies);
	free(r->fdes);
	flow_fini(&r->derived);
}

static struct cursor section_cursor(const struct reader *r)
{
	const struct image_section *bytes = &r->section.bytes;

	return (struct cursor){ .at = bytes->data, .end = bytes->data + bytes->size };
}

/*
 * Read all CIEs before any FDE. An FDE may only name a CIE that is an entry itself. Otherwise FDEs
 * could name any number of long CIEs that overlap, and we would run the program of each.
 */
static void collect_cies(struct reader *r)
{
	struct cursor c = section_cursor(r);
	struct fde_entry entry;

	r->first_cie = r->n_cies;
	while (fde_next_entry(&r->section, &c, &entry)) {
		struct cfi_cie cie = { .offset = entry.offset };

		if (!entry.is_cie)
			continue;
		cie.is_bad = !cie_read(&r->section, &entry, &cie.is) ||
			     cie.is.return_register != CFI_RETURN_ADDRESS || !cfi_run_initial(&cie);
		array_push(r->cies, r->n_cies, r->cies_capacity, cie);
	}
}

/* The number of @entry's CIE, or n_cies if it has none. */
static size_t find_cie(const struct reader *r, const struct fde_entry *entry)
{
	const size_t n = r->n_cies - r->first_cie;
	size_t i = r->first_cie;

	if (n)
		i += array_count_below(&r->cies[i], n, sizeof(*r->cies), entry->cie);
	return i < r->n_cies && r->cies[i].offset == entry->cie ? i : r->n_cies;
}

/*
 * Cut @fde to the segment where it begins. False: that has no code, or the linker has dropped the
 * function, and left 0 in .debug_frame.
 */
static bool cut_to_code(const struct reader *r, struct cfi_fde *fde)
{
	if (fde->end <= fde->start || !fde->start)
		return false;
	fde->end = fde->start + image_code(r->im, fde->start, fde->end - fde->start).size;
	return fde->end > fde->start;
}

/* Read an FDE. False: it makes no sense. */
static bool read_fde(const struct reader *r, const struct fde_entry *entry, struct cfi_fde *ret)
{
	const size_t number = find_cie(r, entry);
	struct image_frame frame;

	if (number == r->n_cies || r->cies[number].is_bad ||
	    !fde_read(&r->section, entry, &r->cies[number].is, &frame) ||
	    cursor_left(&frame.program) > UINT32_MAX)
		return false;
	*ret = (struct cfi_fde){ frame.start, frame.end, frame.program.at,
				 (uint32_t)cursor_left(&frame.program), (uint32_t)number };
	return true;
}

static void collect_fdes(struct reader *r)
{
	struct cursor c = section_cursor(r);
	struct fde_entry entry;

	while (fde_next_entry(&r->section, &c, &entry)) {
		struct cfi_fde fde;

		if (entry.is_cie)
			continue;
		if (read_fde(r, &entry, &fde) && cut_to_code(r, &fde))
			array_push(r->fdes, r->n_fdes, r->fdes_capacity, fde);
	}
}

/* By address, then .eh_frame's before .debug_frame's. */
static int compare_fdes(const void *left, const void *right)
{
	const struct cfi_fde *a = left;
	const struct cfi_fde *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->cie != b->cie)
		return a->cie < b->cie ? -1 : 1;
	return a->program < b->program ? -1 : a->program > b->program;
}

/* Sort the entries, which may be sorted already. */
static void sort_fdes(struct reader *r)
{
	size_t i = 1;

	while (i < r->n_fdes && compare_fdes(&r->fdes[i - 1], &r->fdes[i]) <= 0)
		i++;
	if (i < r->n_fdes)
		qsort(r->fdes, r->n_fdes, sizeof(*r->fdes), compare_fdes);
}

/* --- code that instructions tell --- */

/*
 * Recognize code without entries by its instructions, which the architecture knows.
 *
 * Stubs of PLTs. ld leaves out the entries for those of static programs, lld and mold for all. And
 * _init() and _fini(), which are sections, too.
 *
 * The code where signal handlers return, in musl and Go.
 *
 * Roots: a program's entry point, a thread in musl, a fiber in boost. The loaders of glibc and musl
 * have no entry there, nor has musl's clone(). A program's entry point must look like
 * one, because a library's may be any code.
 *
 * The system call of clone(), shortly before a thread's root. There, the parent is within clone(),
 * and the child on a stack of its own. No entry could express both, so C libraries have none.
 *
 * A wrong entry. LuaJIT's interpreter is 16 KiB of assembly with one row, which is wrong in one
 * part of it. Soon after that part follow functions that the interpreter calls (vm_floor, vm_mod).
 * The row is wrong for these, too, because the stack has one more return address. So the entry ends
 * where that part begins.
 */

/*
 * Read no more code than necessary. We skip the small gaps between functions with entries, and the
 * rest of Go's large programs, which have this code near their beginning.
 */
#define LEAST_GAP_BYTES 64
#define MAX_SEARCHED_BYTES (16UL << 20)

/*
 * Find @code in [@start, @end) of @text. Look-ups of a return to its beginning are at the byte
 * before, so that byte counts as a part of it. C libraries have a nop or padding there.
 */
static bool find_code_in(const struct image_section *text, uint64_t start, uint64_t end,
			 const struct arch_bytes *code, struct cfi_fde *ret)
{
	const uint8_t *at;

	if (start >= end || end - start < LEAST_GAP_BYTES)
		return false;
	at = memmem(text->data + (start - text->vaddr) + 1, end - start - 1, code->data,
		    code->size);
	if (!at)
		return false;
	*ret = (struct cfi_fde){ .start = text->vaddr + (uint64_t)(at - text->data) - 1 };
	ret->end = ret->start + 1 + code->size;
	return true;
}

/* Find @code in gaps between the entries, which are sorted. */
static bool find_in_gaps(const struct reader *r, const struct arch_bytes *code, struct cfi_fde *ret)
{
	struct image_section text;
	uint64_t at, end;
	bool is_found = false;

	if (!code->size || !image_section(r->im, ".text", &text))
		return false;
	at = text.vaddr;
	end = at + (text.size < MAX_SEARCHED_BYTES ? text.size : MAX_SEARCHED_BYTES);
	for (size_t i = 0; i < r->n_fdes && !is_found && at < end; i++) {
		is_found = find_code_in(&text, at, r->fdes[i].start < end ? r->fdes[i].start : end,
					code, ret);
		if (r->fdes[i].end > at)
			at = r->fdes[i].end;
	}
	return is_found || find_code_in(&text, at, end, code, ret);
}

/* --- a program's entry point --- */

/*
 * Find the extent of the code at a program's entry point, if no entry covers it. All of this code
 * is a root. So it must not extend into another function, which has a caller.
 *
 *	_start: ...  call __libc_start_main              glibc; musl is similar
 *	_start: call _dl_start;  mov ...  jump by pointer     glibc's dynamic linker
 *
 * We follow the code in a straight line, up to an instruction that execution does not pass. A
 * symbol or the target of a call may end it before. So does the first call or system call, because
 * it may not return, and another function may follow. But the dynamic linker calls constructors
 * there.
 */
#define MAX_ENTRY_BYTES 256 /* of code from the entry point on */
#define MAX_START_BYTES 8   /* of it that must look like a program's */

struct start {
	uint64_t entry;
	uint64_t limit; /* other code begins here */
};

static void limit_start_to(struct start *s, uint64_t vaddr)
{
	if (vaddr > s->entry && vaddr < s->limit)
		s->limit = vaddr;
}

static int limit_by_symbol(void *context, const struct image_symbol *symbol)
{
	limit_start_to(context, symbol->vaddr);
	return 0;
}

/* Follow the straight line. Returns its end, which may lie past s->limit. */
static uint64_t follow_entry_code(const struct image *im, struct start *s, bool is_linkers)
{
	uint64_t at = s->entry, call_end = 0; /* of the first call */

	while (at < s->limit) {
		const struct slice code = image_code(im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if (at == call_end && (!is_linkers || i.kind != INSTRUCTION_MOVE))
			return at;
		at += i.length;
		switch (i.kind) {
		case INSTRUCTION_JUMP_POINTER:
			return at;
		case INSTRUCTION_JUMP:
		case INSTRUCTION_RETURN:
		case INSTRUCTION_STOP:
		case INSTRUCTION_BAD:
			return call_end ? call_end : at;
		case INSTRUCTION_CALL:
			limit_start_to(s, i.target);
			call_end = call_end ? call_end : at;
			break;
		case INSTRUCTION_CALL_POINTER:
		case INSTRUCTION_SYSTEM_CALL:
			call_end = call_end ? call_end : at;
			break;
		default:
			break;
		}
	}
	return call_end ? call_end : s->limit;
}

/* Find the code of the entry point, up to the next entry at most. False: an entry covers it. */
static bool find_entry_code(const struct reader *r, struct cfi_fde *ret)
{
	const uint64_t entry = image_entry(r->im);
	struct start s = { .entry = entry, .limit = entry + MAX_ENTRY_BYTES };
	const struct slice code = image_code(r->im, entry, ARCH_LINKER_START_BYTES);
	uint64_t end;

	if (!arch_may_be_start(code.data,
			       code.size < MAX_START_BYTES ? code.size : MAX_START_BYTES))
		return false;
	for (size_t i = 0; i < r->n_fdes; i++) {
		if (r->fdes[i].start <= entry && r->fdes[i].end > entry)
			return false;
		limit_start_to(&s, r->fdes[i].start);
	}
	(void)image_each_function(r->im, limit_by_symbol, &s);
	end = follow_entry_code(r->im, &s, arch_linker_start(code.data, code.size) != 0);
	*ret = (struct cfi_fde){ .start = entry, .end = end < s.limit ? end : s.limit };
	return end > entry;
}

#define MAX_CLONE_BYTES 16 /* from the system call to the code of the child alone */

/*
 * Find the system call that makes the thread whose first code is at @root. It is shortly before
 * @root, in code without entries from @gap on. False: it is not there.
 */
static bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_fde *ret)
{
	const uint64_t start = root - gap > MAX_CLONE_BYTES ? root - MAX_CLONE_BYTES : gap;
	const struct slice bytes = image_code(im, start, root - start);

	if (gap >= root)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(arch_clones); i++) {
		const struct arch_bytes *code = &arch_clones[i];
		const uint8_t *at =
			code->size ? memmem(bytes.data, bytes.size, code->data, code->size) : NULL;

		if (!at)
			continue;
		*ret = (struct cfi_fde){ .start = start + (uint64_t)(at - bytes.data),
					 .end = root };
		return true;
	}
	return false;
}

/* The interpreter has 16 KiB and one row. Its instructions tell it; this keeps the search short. */
#define LEAST_ASSEMBLY_BYTES 4096
#define MOST_ASSEMBLY_BYTES (64 << 10)
#define MOST_ASSEMBLY_PROGRAM 64

/* End an entry of hand-written assembly where its row is wrong. The next entry begins at @next. */
static void cfi_cut_trace_exit(const struct image *im, struct cfi_fde *fde, uint64_t next)
{
	const struct arch_bytes *begin = &arch_trace_exit;
	const uint64_t n = (next < fde->end ? next : fde->end) - fde->start;
	struct slice code;
	const uint8_t *at;

	if (!begin->size || n < LEAST_ASSEMBLY_BYTES || n > MOST_ASSEMBLY_BYTES ||
	    fde->program_bytes > MOST_ASSEMBLY_PROGRAM)
		return;
	code = image_code(im, fde->start, n);
	at = memmem(code.data, code.size, begin->data, begin->size);
	if (at)
		fde->end = fde->start + (uint64_t)(at - code.data);
}

/* Does any entry cover a part of these stubs? */
static bool have_stubs_entry(const struct reader *r, const struct cfi_fde *stubs)
{
	for (size_t i = 0; i < r->n_fdes; i++)
		if (r->fdes[i].start < stubs->end && r->fdes[i].end > stubs->start)
			return true;
	return false;
}

/* The CIE of code without entries. CFI_OWN_CLONE: behind the system call of clone(). */
enum cfi_own { CFI_OWN_STUBS, CFI_OWN_ROOT, CFI_OWN_CLONE, CFI_OWN_SIGNAL };

static void add_own_cie(struct reader *r, enum cfi_own kind)
{
	const struct arch_bytes *program = kind == CFI_OWN_ROOT     ? &arch_cfi_of_root
					   : kind == CFI_OWN_SIGNAL ? &arch_cfi_of_signal
								    : &arch_cfi_of_entry;
	struct cfi_cie cie = { .is = { .code_factor = 1,
				       .data_factor = -8,
				       .is_signal = kind == CFI_OWN_SIGNAL,
				       .program = { .at = program->data,
						    .end = program->data + program->size } } };

	(void)cfi_run_initial(&cie);
	cie.initial.row.is_cloned = kind == CFI_OWN_CLONE;
	array_push(r->cies, r->n_cies, r->cies_capacity, cie);
}

/* Add an entry for code without one, with the last CIE. Not if the file has no code there. */
static void add_entry_for(struct reader *r, struct cfi_fde place)
{
	place.cie = (uint32_t)r->n_cies - 1;
	if (cut_to_code(r, &place))
		array_push(r->fdes, r->n_fdes, r->fdes_capacity, place);
}

size_t cfi_find_stubs(const struct image *im, struct cfi_fde ret[CFI_MAX_STUBS])
{
	static const char *const names[CFI_MAX_STUBS] = { ".plt",  ".plt.sec", ".plt.got",
							  ".iplt", ".init",    ".fini" };
	struct image_section section;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const bool is_crt = i >= 4;
		struct arch_bytes program;

		if (!image_section(im, names[i], &section))
			continue;
		program = is_crt ? arch_cfi_of_crt(section.data, section.size)
				 : arch_cfi_of_stubs(section.data, section.size);
		if (program.size || !is_crt)
			ret[n++] = (struct cfi_fde){ .start = section.vaddr,
						     .end = section.vaddr + section.size,
						     .program = program.data,
						     .program_bytes = (uint32_t)program.size };
	}
	return n;
}

static void add_stubs(struct reader *r)
{
	struct cfi_fde stubs[CFI_MAX_STUBS];
	const size_t n = cfi_find_stubs(r->im, stubs);

	add_own_cie(r, CFI_OWN_STUBS);
	for (size_t i = 0; i < n; i++)
		if (!have_stubs_entry(r, &stubs[i]))
			add_entry_for(r, stubs[i]);
}

/* Is the code of @fde a root, where the walk ends? */
static bool is_cfi_root(const struct reader *r, const struct cfi_fde *fde)
{
	static const uint8_t undefined[] = { 0x07, CFI_RETURN_ADDRESS };

	return r->cies[fde->cie].initial.row.pc.how == CFI_UNDEFINED ||
	       (fde->program_bytes >= sizeof(undefined) &&
		memcmp(fde->program, undefined, sizeof(undefined)) == 0);
}

static void add_clones(struct reader *r)
{
	const size_t n = r->n_fdes;
	struct cfi_fde place;

	add_own_cie(r, CFI_OWN_CLONE);
	for (size_t i = 0; i < n; i++)
		if (is_cfi_root(r, &r->fdes[i]) &&
		    cfi_find_clone(r->im, i ? r->fdes[i - 1].end : 0, r->fdes[i].start, &place))
			add_entry_for(r, place);
}

/*
 * Add entries for the first code of a program, a thread and a fiber, for clone(), and for the code
 * where signal handlers return. Entries are sorted, before and after. Returns the number of roots.
 */
static size_t add_missing_entries(struct reader *r)
{
	struct cfi_fde places[3];
	size_t n = find_entry_code(r, &places[0]);

	if (find_in_gaps(r, &arch_thread_root, &places[n])) {
		/* musl's exit(2) may follow */
		const struct slice code = image_code(r->im, places[n].end, 16);

		places[n++].end += arch_exit_bytes(code.data, code.size);
	}
	n += find_in_gaps(r, &arch_fiber_root, &places[n]);
	add_own_cie(r, CFI_OWN_ROOT);
	for (size_t i = 0; i < n; i++)
		add_entry_for(r, places[i]);
	sort_fdes(r);
	add_clones(r);
	sort_fdes(r);
	if (!find_in_gaps(r, &arch_signal_return, places))
		return n;
	add_own_cie(r, CFI_OWN_SIGNAL);
	add_entry_for(r, places[0]);
	sort_fdes(r);
	return n;
}

/* Run the entries in order. Each ends where the next begins. */
static int run_fdes(struct reader *r, cfi_visit *visit, void *context)
{
	const uint64_t first = r->derived.n_spans ? r->derived.spans[0].start : UINT64_MAX;
	const uint64_t first_end = r->n_fdes ? r->fdes[0].start : UINT64_MAX;
	int err = first < first_end
			  ? derived_rows_between(&r->derived, first, first_end, visit, context)
			  : 0;

	for (size_t i = 0, next; i < r->n_fdes && !err; i = next) {
		const struct cfi_fde *fde = &r->fdes[i];
		uint64_t end = fde->end, next_start;

		next = i + 1;
		while (next < r->n_fdes && r->fdes[next].start == fde->start)
			next++;
		next_start = next < r->n_fdes ? r->fdes[next].start : UINT64_MAX;
		if (next_start < end)
			end = next_start;
		err = cfi_run(&r->cies[fde->cie], fde, end, visit, context);
		if (!err && (next == r->n_fdes || next_start != end))
			err = derived_rows_between(&r->derived, end, next_start, visit, context);
	}
	return err;
}

static void collect_section(struct reader *r, bool is_debug)
{
	if (!fde_section_of(r->im, is_debug, &r->section))
		return;
	r->is_any = true;
	collect_cies(r);
	collect_fdes(r);
}

int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit, void *context,
		 struct error *e)
{
	cleanup(cfi_reader_fini) struct reader r = { .im = im };
	size_t n_roots;

	if (!image_is_64_bit(im))
		return error_set(e, -ENOEXEC, "unwind tables are for 64-bit programs only");
	collect_section(&r, false);
	collect_section(&r, true);
	add_stubs(&r);
	sort_fdes(&r);
	for (size_t i = 0; i < r.n_fdes; i++)
		cfi_cut_trace_exit(im, &r.fdes[i],
				   i + 1 < r.n_fdes ? r.fdes[i + 1].start : UINT64_MAX);
	n_roots = add_missing_entries(&r);
	derive(im, go, r.fdes, r.n_fdes, &r.derived);
	if (!r.is_any && !n_roots && !r.derived.n_spans)
		return error_set(e, -ENOENT, "no unwind information in the file");
	return run_fdes(&r, visit, context);
}
