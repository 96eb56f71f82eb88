// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function has three arguments: the context, the place for the value, and the number of the
 * expression.
 *
 *	r6 = r1, r7 = r2
 *	if r3 == 1 goto second		only if there are several
 *	... the first expression, whose value is in r0 then
 *	*(u64 *)r7 = r0
 *	r0 = 0
 *	exit
 *	second: ...
 *	fault: r0 = 1
 *	exit
 *
 * An expression is a stack of values. The uppermost one is in r0. The others are in the function's
 * frame. Operations use r1 and r2. BPF of -mcpu=v3 has no signed division, so it is made of the
 * unsigned one.
 */
#include "attach/value_code.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/syscall.h"
#include "base/memory.h"
#include "bpf/abi.h"

#define ALU(op, dst, src) INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define ALU_IMM(op, dst, value) INSN(BPF_ALU64 | (op) | BPF_K, dst, 0, 0, value)
#define IF_IMM(op, dst, value, off) INSN(BPF_JMP | (op) | BPF_K, dst, 0, off, value)
#define LOAD_FROM(size, dst, src, off) INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE_TO(dst, off, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, off, 0)

#define FAULT INT16_MIN /* the distance of a jump that leads to the end */

/* Jumps reach over INT16_MAX instructions. An expression has far fewer than the rest. */
#define MOST_INSTRUCTIONS 28000

struct value_maker {
	struct value_code *code;
	bool by_helper;
	/* The types of the values on the stack, the one in r0 included. */
	struct value_type types[EXPRESSION_MOST_DEPTH + 1];
	size_t depth;
};

static void emit_insn(struct value_maker *m, struct bpf_insn insn)
{
	array_push(m->code->insns, m->code->n, m->code->capacity, insn);
}

#define EMIT(m, ...) emit_insn(m, (struct bpf_insn)__VA_ARGS__)

/* Where value @i of the stack is in the frame. */
static int16_t slot_of(size_t i)
{
	return (int16_t)(-8 * ((int)i + 1));
}

/* By bytes. */
static const uint8_t size_codes[] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };

/* Cut r0 to @type, and extend it. */
static void emit_cast(struct value_maker *m, struct value_type type)
{
	const int bits = 64 - 8 * type.bytes;

	if (!bits)
		return;
	EMIT(m, ALU_IMM(BPF_LSH, BPF_REG_0, bits));
	EMIT(m, ALU_IMM(type.is_signed ? BPF_ARSH : BPF_RSH, BPF_REG_0, bits));
}

static void emit_number(struct value_maker *m, int64_t number)
{
	if (number == (int32_t)number) {
		EMIT(m, MOVE_IMM(BPF_REG_0, (int32_t)number));
		return;
	}
	EMIT(m, INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_0, 0, 0, (int32_t)number));
	EMIT(m, INSN(0, 0, 0, 0, (int32_t)(number >> 32)));
}

/* Read @type by @helper from the address in r3. */
static void emit_read(struct value_maker *m, struct value_type type, int helper)
{
	const int16_t to = slot_of(m->depth);

	EMIT(m, MOVE_REG(BPF_REG_1, BPF_REG_10));
	EMIT(m, ALU_IMM(BPF_ADD, BPF_REG_1, to));
	EMIT(m, MOVE_IMM(BPF_REG_2, type.bytes));
	EMIT(m, CALL(helper));
	EMIT(m, IF_IMM(BPF_JNE, BPF_REG_0, 0, FAULT));
	EMIT(m, LOAD_FROM(size_codes[type.bytes], BPF_REG_0, BPF_REG_10, to));
}

/* Read from byte @at of the context. The kernel allows loads at multiples of their size. */
static void emit_context(struct value_maker *m, int32_t at, struct value_type type)
{
	if (!m->by_helper && at % type.bytes == 0) {
		EMIT(m, LOAD_FROM(size_codes[type.bytes], BPF_REG_0, BPF_REG_6, (int16_t)at));
		return;
	}
	EMIT(m, MOVE_REG(BPF_REG_3, BPF_REG_6));
	EMIT(m, ALU_IMM(BPF_ADD, BPF_REG_3, at));
	emit_read(m, type, BPF_FUNC_probe_read_kernel);
}

/* Read from memory at an address that a register of the context has. */
static void emit_memory(struct value_maker *m, const struct expression_node *node)
{
	const struct value_type address = { 8, false };

	emit_context(m, (int32_t)node->base, address);
	EMIT(m, MOVE_REG(BPF_REG_3, BPF_REG_0));
	EMIT(m, ALU_IMM(BPF_ADD, BPF_REG_3, (int32_t)node->number));
	emit_read(m, node->type,
		  node->op == EXPRESSION_USER_MEMORY ? BPF_FUNC_probe_read_user
						     : BPF_FUNC_probe_read_kernel);
}

static void emit_leaf(struct value_maker *m, const struct expression_node *node)
{
	switch (node->op) {
	case EXPRESSION_NUMBER:
		emit_number(m, node->number);
		return;
	case EXPRESSION_CONTEXT:
		emit_context(m, (int32_t)node->number, node->type);
		break;
	case EXPRESSION_USER_MEMORY:
	case EXPRESSION_KERNEL_MEMORY:
		emit_memory(m, node);
		break;
	default:
		EMIT(m, MOVE_IMM(BPF_REG_0, 0));
		EMIT(m, IF_IMM(BPF_JEQ, BPF_REG_0, 0, FAULT)); /* always */
		return;
	}
	if (node->type.is_signed)
		emit_cast(m, node->type);
}

/* r0 = r1 / r0 or r1 % r0, with signs. The result has the sign that r2 has. */
static void emit_signed_division(struct value_maker *m, unsigned op)
{
	EMIT(m, MOVE_REG(BPF_REG_2, BPF_REG_1));
	if (op == BPF_DIV)
		EMIT(m, ALU(BPF_XOR, BPF_REG_2, BPF_REG_0));
	EMIT(m, IF_IMM(BPF_JSGE, BPF_REG_1, 0, 1));
	EMIT(m, ALU_IMM(BPF_NEG, BPF_REG_1, 0));
	EMIT(m, IF_IMM(BPF_JSGE, BPF_REG_0, 0, 1));
	EMIT(m, ALU_IMM(BPF_NEG, BPF_REG_0, 0));
	EMIT(m, ALU(op, BPF_REG_1, BPF_REG_0));
	EMIT(m, IF_IMM(BPF_JSGE, BPF_REG_2, 0, 1));
	EMIT(m, ALU_IMM(BPF_NEG, BPF_REG_1, 0));
}

/* r1 = r1 op r0. */
static void emit_binary(struct value_maker *m, enum expression_op op, bool is_signed,
			bool left_is_signed)
{
	static const uint8_t plain[EXPRESSION_OPS] = {
		[EXPRESSION_MULTIPLY] = BPF_MUL,    [EXPRESSION_DIVIDE] = BPF_DIV,
		[EXPRESSION_MODULO] = BPF_MOD,      [EXPRESSION_ADD] = BPF_ADD,
		[EXPRESSION_SUBTRACT] = BPF_SUB,    [EXPRESSION_SHIFT_LEFT] = BPF_LSH,
		[EXPRESSION_SHIFT_RIGHT] = BPF_RSH, [EXPRESSION_AND] = BPF_AND,
		[EXPRESSION_XOR] = BPF_XOR,         [EXPRESSION_OR] = BPF_OR,
	};
	unsigned code = plain[op];

	if ((op == EXPRESSION_DIVIDE || op == EXPRESSION_MODULO) && is_signed) {
		emit_signed_division(m, code);
		return;
	}
	if (op == EXPRESSION_SHIFT_LEFT || op == EXPRESSION_SHIFT_RIGHT)
		EMIT(m, ALU_IMM(BPF_AND, BPF_REG_0, 63));
	if (op == EXPRESSION_SHIFT_RIGHT && left_is_signed)
		code = BPF_ARSH;
	EMIT(m, ALU(code, BPF_REG_1, BPF_REG_0));
}

/* Is a value of @type unsigned where it has 64 bits? */
static bool is_wide_unsigned(struct value_type type)
{
	return type.bytes == 8 && !type.is_signed;
}

static void make_binary(struct value_maker *m, enum expression_op op)
{
	const bool left = !is_wide_unsigned(m->types[m->depth - 2]);
	const bool right = !is_wide_unsigned(m->types[m->depth - 1]);
	const bool is_shift = op == EXPRESSION_SHIFT_LEFT || op == EXPRESSION_SHIFT_RIGHT;

	EMIT(m, LOAD_FROM(BPF_DW, BPF_REG_1, BPF_REG_10, slot_of(m->depth - 2)));
	emit_binary(m, op, left && right, left);
	EMIT(m, MOVE_REG(BPF_REG_0, BPF_REG_1));
	m->depth--;
	m->types[m->depth - 1] = (struct value_type){ 8, left && (right || is_shift) };
}

static void make_unary(struct value_maker *m, const struct expression_node *node)
{
	struct value_type *type = &m->types[m->depth - 1];

	if (node->op == EXPRESSION_CAST) {
		emit_cast(m, node->type);
		*type = node->type;
		return;
	}
	if (node->op == EXPRESSION_NEGATE)
		EMIT(m, ALU_IMM(BPF_NEG, BPF_REG_0, 0));
	else
		EMIT(m, ALU_IMM(BPF_XOR, BPF_REG_0, -1));
	*type = (struct value_type){ 8, !is_wide_unsigned(*type) };
}

static void make_node(struct value_maker *m, const struct expression_node *node)
{
	switch (expression_operands((enum expression_op)node->op)) {
	case 0:
		if (m->depth)
			EMIT(m, STORE_TO(BPF_REG_10, slot_of(m->depth - 1), BPF_REG_0));
		emit_leaf(m, node);
		m->types[m->depth++] = node->type;
		break;
	case 1:
		make_unary(m, node);
		break;
	default:
		make_binary(m, (enum expression_op)node->op);
	}
}

static void make_expression(struct value_maker *m, const struct expression *x)
{
	m->depth = 0;
	for (size_t i = 0; i < x->n; i++)
		make_node(m, &x->nodes[i]);
	m->code->is_unsigned &= is_wide_unsigned(m->types[0]);
	EMIT(m, STORE_TO(BPF_REG_7, 0, BPF_REG_0));
	EMIT(m, MOVE_IMM(BPF_REG_0, 0));
	EMIT(m, EXIT);
}

/* The end, if a jump leads to it: the kernel refuses instructions that none reaches. */
static void emit_fault(struct value_maker *m)
{
	struct value_code *code = m->code;
	bool is_reached = false;

	for (size_t i = 0; i < code->n; i++) {
		if (BPF_CLASS(code->insns[i].code) != BPF_JMP || code->insns[i].off != FAULT)
			continue;
		code->insns[i].off = (int16_t)(code->n - i - 1);
		is_reached = true;
	}
	if (!is_reached)
		return;
	EMIT(m, MOVE_IMM(BPF_REG_0, 1));
	EMIT(m, EXIT);
}

int value_code_make(const struct expression *of, size_t n, bool by_helper, struct value_code *ret,
		    struct error *e)
{
	struct value_maker m = { .code = ret, .by_helper = by_helper };

	*ret = (struct value_code){ .is_unsigned = true };
	EMIT(&m, MOVE_REG(BPF_REG_6, BPF_REG_1));
	EMIT(&m, MOVE_REG(BPF_REG_7, BPF_REG_2));

	const size_t first_jump = ret->n;

	for (size_t i = 1; i < n; i++)
		EMIT(&m, IF_IMM(BPF_JEQ, BPF_REG_3, (int32_t)i, 0));
	for (size_t i = 0; i < n; i++) {
		if (ret->n > MOST_INSTRUCTIONS)
			return error_set(e, -E2BIG, "the values of %zu targets need too much code",
					 n);
		if (i)
			ret->insns[first_jump + i - 1].off =
				(int16_t)(ret->n - (first_jump + i - 1) - 1);
		make_expression(&m, &of[i]);
	}
	emit_fault(&m);
	return 0;
}

void value_code_fini(struct value_code *code)
{
	free(code->insns);
	*code = (struct value_code){};
}
