// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/dead_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/instructions.h"

#define REGISTERS 11

/*
 * The registers whose contents are the same on all paths to an instruction. The first two members
 * are bit masks of registers: .value is a number, or the offset of the setting that the register
 * points to.
 */
struct known {
	uint16_t is_number;
	uint16_t is_setting;
	uint64_t value[REGISTERS];
};

enum branch { NEVER, ALWAYS, MAYBE };

/* The number that a load of a setting gives. */
struct number {
	bool is_known;
	int32_t value;
};

struct pass {
	const struct program_constants *constants;
	struct program_code *code;
	struct known now;
	size_t at;        /* the instruction in progress */
	bool is_live;     /* it can be reached from the one before it */
	bool must_repeat; /* .states of an earlier instruction has changed */
	/* By instruction. */
	bool *is_reached;
	uint8_t *branches;    /* enum branch, of jumps */
	struct number *loads; /* of loads */
	uint32_t *states_at;  /* 1 + an index into .states; 0: none */
	struct known *states; /* at targets of jumps and calls */
	size_t n_states, capacity;
};

static void forget(struct known *k, unsigned reg)
{
	k->is_number &= (uint16_t) ~(1U << reg);
	k->is_setting &= (uint16_t) ~(1U << reg);
}

static void set_number(struct known *k, unsigned reg, uint64_t value)
{
	forget(k, reg);
	k->is_number |= (uint16_t)(1U << reg);
	k->value[reg] = value;
}

static bool is_number(const struct known *k, unsigned reg)
{
	return k->is_number >> reg & 1;
}

/* Keep in @to only what @from knows, too. Returns whether it forgot something. */
static bool keep_common(struct known *to, const struct known *from)
{
	const struct known before = *to;

	to->is_number &= from->is_number;
	to->is_setting &= from->is_setting;
	for (unsigned i = 0; i < REGISTERS; i++)
		if (to->value[i] != from->value[i])
			forget(to, i);
	return to->is_number != before.is_number || to->is_setting != before.is_setting;
}

/* Instruction @at can be reached, with @known. */
static void reach_instruction(struct pass *p, size_t at, const struct known *known)
{
	bool is_new = !p->states_at[at];

	if (is_new) {
		array_push(p->states, p->n_states, p->capacity, *known);
		p->states_at[at] = (uint32_t)p->n_states;
	} else {
		is_new = keep_common(&p->states[p->states_at[at] - 1], known);
	}
	p->must_repeat |= is_new && at <= p->at;
}

static void reach_function(struct pass *p, size_t at)
{
	static const struct known nothing;

	reach_instruction(p, at, &nothing);
}

/* --- what an instruction does to the registers --- */

static bool alu_result(unsigned op, uint64_t a, uint64_t b, unsigned bits, uint64_t *ret)
{
	switch (op) {
	case BPF_MOV:
		*ret = b;
		return true;
	case BPF_ADD:
		*ret = a + b;
		return true;
	case BPF_SUB:
		*ret = a - b;
		return true;
	case BPF_AND:
		*ret = a & b;
		return true;
	case BPF_OR:
		*ret = a | b;
		return true;
	case BPF_XOR:
		*ret = a ^ b;
		return true;
	case BPF_LSH:
		*ret = a << (b & (bits - 1));
		return true;
	case BPF_RSH:
		*ret = a >> (b & (bits - 1));
		return true;
	default:
		return false;
	}
}

/* The number in the source of a calculation or comparison. */
static bool source_number(const struct known *k, const struct bpf_insn *insn, uint64_t *ret)
{
	if (BPF_SRC(insn->code) == BPF_K) {
		*ret = (uint64_t)(int64_t)insn->imm;
		return true;
	}
	*ret = k->value[insn->src_reg];
	return is_number(k, insn->src_reg);
}

static void do_alu(struct known *k, const struct bpf_insn *insn)
{
	const bool is_64 = BPF_CLASS(insn->code) == BPF_ALU64;
	const unsigned op = BPF_OP(insn->code), dst = insn->dst_reg;
	const uint64_t mask = is_64 ? UINT64_MAX : UINT32_MAX;
	uint64_t source, result;

	if (is_64 && op == BPF_MOV && BPF_SRC(insn->code) == BPF_X && !insn->off) {
		forget(k, dst);
		k->is_number |= (uint16_t)((k->is_number >> insn->src_reg & 1) << dst);
		k->is_setting |= (uint16_t)((k->is_setting >> insn->src_reg & 1) << dst);
		k->value[dst] = k->value[insn->src_reg];
	} else if (is_64 && op == BPF_ADD && BPF_SRC(insn->code) == BPF_K &&
		   k->is_setting >> dst & 1) {
		k->value[dst] += (uint64_t)(int64_t)insn->imm;
	} else if (!insn->off && source_number(k, insn, &source) &&
		   (op == BPF_MOV || is_number(k, dst)) &&
		   alu_result(op, k->value[dst] & mask, source & mask, is_64 ? 64 : 32, &result)) {
		set_number(k, dst, result & mask);
	} else {
		forget(k, dst);
	}
}

static bool fits_immediate(uint64_t value)
{
	return value == (uint64_t)(int64_t)(int32_t)value;
}

static void do_load(struct pass *p, const struct bpf_insn *insn)
{
	static const uint8_t sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8
	};
	struct known *k = &p->now;
	const size_t n = sizes[BPF_SIZE(insn->code) >> 3];
	const uint64_t at = k->value[insn->src_reg] + (uint64_t)(int64_t)insn->off;
	uint64_t value = 0;

	if (BPF_MODE(insn->code) != BPF_MEM || !(k->is_setting >> insn->src_reg & 1) ||
	    at == p->constants->unknown || at > p->constants->bytes ||
	    n > p->constants->bytes - at) {
		forget(k, insn->dst_reg);
		p->loads[p->at].is_known = false;
		return;
	}
	memcpy(&value, (const uint8_t *)p->constants->at + at, n);
	set_number(k, insn->dst_reg, value);
	p->loads[p->at] = (struct number){ fits_immediate(value), (int32_t)value };
}

static void do_wide(struct pass *p, const struct bpf_insn *insn)
{
	struct known *k = &p->now;

	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE && insn->imm == p->constants->fd) {
		forget(k, insn->dst_reg);
		k->is_setting |= (uint16_t)(1U << insn->dst_reg);
		k->value[insn->dst_reg] = (uint32_t)insn[1].imm;
	} else if (!insn->src_reg) {
		set_number(k, insn->dst_reg,
			   (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32);
	} else {
		forget(k, insn->dst_reg);
	}
	if (insn_has_function(insn))
		reach_function(p, insn_target(insn, p->at));
}

/* --- jumps --- */

static bool jump_condition(unsigned op, uint64_t a, uint64_t b, int64_t sa, int64_t sb)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b; /* BPF_JSET */
	}
}

static enum branch jump_branch(const struct known *k, const struct bpf_insn *insn)
{
	const uint64_t a = k->value[insn->dst_reg];
	uint64_t b;
	bool is_taken;

	if (!is_number(k, insn->dst_reg) || !source_number(k, insn, &b))
		return MAYBE;
	if (BPF_CLASS(insn->code) == BPF_JMP)
		is_taken = jump_condition(BPF_OP(insn->code), a, b, (int64_t)a, (int64_t)b);
	else
		is_taken = jump_condition(BPF_OP(insn->code), (uint32_t)a, (uint32_t)b, (int32_t)a,
					  (int32_t)b);
	return is_taken ? ALWAYS : NEVER;
}

static void do_jump(struct pass *p, const struct bpf_insn *insn)
{
	const enum branch branch = insn_is_always_jump(insn) ? ALWAYS : jump_branch(&p->now, insn);

	p->branches[p->at] = (uint8_t)branch;
	if (branch != NEVER)
		reach_instruction(p, insn_target(insn, p->at), &p->now);
	p->is_live = branch != ALWAYS;
}

static void do_call(struct pass *p, const struct bpf_insn *insn)
{
	if (insn_has_function(insn))
		reach_function(p, insn_target(insn, p->at));
	for (unsigned reg = BPF_REG_0; reg <= BPF_REG_5; reg++)
		forget(&p->now, reg);
}

static void do_instruction(struct pass *p, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		do_wide(p, insn);
		break;
	case BPF_LDX:
		do_load(p, insn);
		break;
	case BPF_ALU:
	case BPF_ALU64:
		do_alu(&p->now, insn);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		if (insn_is_jump(insn))
			do_jump(p, insn);
		else if (BPF_OP(insn->code) == BPF_CALL)
			do_call(p, insn);
		else
			p->is_live = false; /* BPF_EXIT */
		break;
	case BPF_STX: /* atomic operations return the old value in either */
		if (BPF_MODE(insn->code) != BPF_MEM) {
			forget(&p->now, insn->src_reg);
			forget(&p->now, BPF_REG_0);
		}
		break;
	default:
		break;
	}
}

/* Go through all instructions once, in their order. */
static void pass_over(struct pass *p)
{
	const struct program_code *code = p->code;

	p->is_live = false;
	for (size_t i = 0; i < code->n; i++) {
		if (p->states_at[i]) {
			if (p->is_live)
				reach_instruction(p, i, &p->now);
			p->now = p->states[p->states_at[i] - 1];
			p->is_live = true;
		}
		p->is_reached[i] = p->is_live;
		p->at = i;
		if (p->is_live)
			do_instruction(p, &code->insns[i]);
		if (insn_is_wide(&code->insns[i])) {
			i++;
			p->is_reached[i] = p->is_reached[i - 1];
		}
	}
}

/* --- removal --- */

static const struct bpf_insn always = INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0);

/* Replace a jump that always or never jumps, and a load that gives a known number. */
static void put_constants(const struct pass *p, size_t i)
{
	struct bpf_insn *insn = &p->code->insns[i];
	const int16_t off = insn->off;

	if (insn_is_jump(insn) && p->branches[i] != MAYBE) {
		*insn = always;
		if (p->branches[i] == ALWAYS)
			insn->off = off;
	} else if (p->loads[i].is_known) {
		const struct bpf_insn move = MOVE_IMM(insn->dst_reg, p->loads[i].value);

		*insn = move;
	}
}

/* Mark all between a jump back and where it leads. */
static void mark_loops(const struct program_code *code, const bool *stays, bool *is_in_loop)
{
	for (size_t i = 0; i < code->n; i++) {
		const struct bpf_insn *insn = &code->insns[i];

		if (stays[i] && insn_is_jump(insn) && insn_target(insn, i) <= i)
			memset(is_in_loop + insn_target(insn, i), true,
			       i + 1 - insn_target(insn, i));
		i += insn_is_wide(insn);
	}
}

/*
 * Remove jumps to the next instruction. In loops all jumps stay: until Linux 6.1 the verifier
 * refuses a loop that is closed without one (tests/lint/loops).
 */
static void leave_out_empty_jumps(const struct program_code *code, bool *stays)
{
	cleanup_free bool *is_in_loop = xcalloc(code->n, sizeof(*is_in_loop));
	size_t next = code->n; /* the first instruction from here on that stays */

	mark_loops(code, stays, is_in_loop);
	for (size_t i = code->n; i-- > 0;) {
		const struct bpf_insn *insn = &code->insns[i];

		if (stays[i] && !is_in_loop[i] && insn_is_always_jump(insn) &&
		    insn_target(insn, i) > i && insn_target(insn, i) <= next)
			stays[i] = false;
		if (stays[i])
			next = i;
	}
}

static void remove_dead(const struct pass *p)
{
	for (size_t i = 0; i < p->code->n; i++) {
		const bool has_two = insn_is_wide(&p->code->insns[i]);

		if (p->is_reached[i])
			put_constants(p, i);
		i += has_two;
	}
	leave_out_empty_jumps(p->code, p->is_reached);
	program_code_keep(p->code, p->is_reached);
}

void dead_code_remove(const struct program_constants *constants, struct program_code *code)
{
	struct pass p = {
		.constants = constants,
		.code = code,
		.is_reached = xcalloc(code->n, sizeof(*p.is_reached)),
		.branches = xcalloc(code->n, sizeof(*p.branches)),
		.loads = xcalloc(code->n, sizeof(*p.loads)),
		.states_at = xcalloc(code->n, sizeof(*p.states_at)),
		.states = xcalloc(1, sizeof(*p.states)),
		.capacity = 1,
	};

	reach_function(&p, 0);
	do {
		p.must_repeat = false;
		pass_over(&p);
	} while (p.must_repeat);
	remove_dead(&p);
	free(p.is_reached);
	free(p.branches);
	free(p.loads);
	free(p.states_at);
	free(p.states);
}
