/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/oracle.h - what libdw says of a frame: CFI evaluated in full, over made-up
 * registers and memory. Memory is a function of the address, so that whoever reads at another
 * place than he should gets something else.
 */
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "bpf/user_step.h"

#define ORACLE_STACK 0x7f0000001000ULL

/* Above every stack pointer, and never 0: what is found there may be a stack pointer or pc too. */
static inline uint64_t oracle_memory(uint64_t at)
{
	return (hash_mix(at) >> 2 | 1ULL << 61) & ~7ULL;
}

static inline _Bool oracle_read(void *from, __u64 at, __u64 *ret)
{
	(void)from;
	*ret = oracle_memory(at);
	return true;
}

/* Registers of an innermost frame at @pc. */
static inline struct unwind_regs oracle_regs(uint64_t pc)
{
	struct unwind_regs regs = { .pc = pc, .known = UNWIND_ALL_KNOWN, .is_exact = 1 };

	for (uint32_t i = 0; i < UNWIND_N_REGISTERS; i++)
		regs.of[i] = (ORACLE_STACK + (hash_mix(pc + i) & 0xffff0)) | 0x100000;
	regs.of[UNWIND_RSP] = ORACLE_STACK;
	return regs;
}

/* What libdw knows of a value. */
struct oracle_value {
	bool is_known; /* else undefined */
	uint64_t value;
};

struct oracle_stack {
	const struct unwind_regs *regs;
	uint64_t cfa;
	uint64_t words[32];
	unsigned n;
	bool is_wrong; /* an operation that is not known here */
};

static inline uint64_t oracle_register(const struct unwind_regs *regs, uint64_t reg)
{
	return reg < UNWIND_N_REGISTERS ? regs->of[reg] : regs->pc;
}

static inline uint64_t oracle_pop(struct oracle_stack *s)
{
	if (s->n == 0) {
		s->is_wrong = true;
		return 0;
	}
	return s->words[--s->n];
}

static inline void oracle_push(struct oracle_stack *s, uint64_t word)
{
	if (s->n == 32)
		s->is_wrong = true;
	else
		s->words[s->n++] = word;
}

static inline void oracle_binary(struct oracle_stack *s, uint8_t atom)
{
	uint64_t b = oracle_pop(s);
	uint64_t a = oracle_pop(s);

	switch (atom) {
	case DW_OP_plus:
		oracle_push(s, a + b);
		break;
	case DW_OP_minus:
		oracle_push(s, a - b);
		break;
	case DW_OP_and:
		oracle_push(s, a & b);
		break;
	case DW_OP_shl:
		oracle_push(s, a << (b & 63));
		break;
	case DW_OP_mul:
		oracle_push(s, a * b);
		break;
	case DW_OP_ge:
		oracle_push(s, (int64_t)a >= (int64_t)b);
		break;
	default:
		s->is_wrong = true;
	}
}

static inline void oracle_operate(struct oracle_stack *s, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		oracle_push(s, oracle_register(s->regs, atom - DW_OP_breg0) + op->number);
	else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		oracle_push(s, atom - DW_OP_lit0);
	else if (atom == DW_OP_bregx)
		oracle_push(s, oracle_register(s->regs, op->number) + op->number2);
	else if (atom == DW_OP_call_frame_cfa)
		oracle_push(s, s->cfa);
	else if (atom == DW_OP_deref)
		oracle_push(s, oracle_memory(oracle_pop(s)));
	else if (atom == DW_OP_plus_uconst)
		oracle_push(s, oracle_pop(s) + op->number);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		oracle_push(s, op->number);
	else
		oracle_binary(s, atom);
}

/* Where something is, or (@is_value) what it is. */
static inline struct oracle_value oracle_evaluate(const struct unwind_regs *regs, uint64_t cfa,
						  const Dwarf_Op *ops, size_t n, bool is_value)
{
	struct oracle_stack s = { .regs = regs, .cfa = cfa };
	uint64_t top;

	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct oracle_value){ true,
					      oracle_register(regs, ops[0].atom - DW_OP_reg0) };
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct oracle_value){ true, oracle_register(regs, ops[0].number) };
	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			is_value = true;
		else
			oracle_operate(&s, &ops[i]);
	}
	top = oracle_pop(&s);
	if (s.is_wrong)
		abort();
	return (struct oracle_value){ true, is_value ? top : oracle_memory(top) };
}

/* The caller's @reg (16: the return address). */
static inline struct oracle_value oracle_caller(Dwarf_Frame *frame, int reg,
						const struct unwind_regs *regs, uint64_t cfa)
{
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, memory, &ops, &n) != 0)
		abort();
	if (n == 0 && ops == NULL)
		return (struct oracle_value){ true, oracle_register(regs, (uint64_t)reg) };
	if (n == 0)
		return (struct oracle_value){ false, 0 };
	return oracle_evaluate(regs, cfa, ops, n, false);
}

static inline struct oracle_value oracle_cfa(Dwarf_Frame *frame, const struct unwind_regs *regs)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0)
		return (struct oracle_value){ false, 0 };
	return oracle_evaluate(regs, 0, ops, n, true);
}
