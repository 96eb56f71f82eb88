/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/instruction.h - the effect of an instruction on the stack and on the registers that calls
 * preserve. For the analysis of compiled code (unwind/derive.h), and for the extent of a program's
 * first code (unwind/entry.c). The analysis expects that a call pushes the return address, so it
 * does not run without ARCH_CALL_PUSHES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

enum instruction_kind {
	INSTRUCTION_OTHER,        /* writes the registers in @writes, and maybe memory */
	INSTRUCTION_NOP,          /* no effect; it may be padding */
	INSTRUCTION_PUSH,         /* of @reg; REGISTER_NONE: of something else */
	INSTRUCTION_POP,          /* to @reg; REGISTER_NONE: to something else */
	INSTRUCTION_ADD,          /* reg += value; for the stack pointer alone */
	INSTRUCTION_MOVE,         /* reg = base */
	INSTRUCTION_LEA,          /* reg = base + value */
	INSTRUCTION_ADDRESS,      /* reg = target, in code or data */
	INSTRUCTION_LOAD,         /* reg = 8 bytes at base + value */
	INSTRUCTION_COMPARE_SP,   /* of the stack pointer with @reg */
	INSTRUCTION_LEAVE,        /* stack pointer = frame pointer, pop the frame pointer */
	INSTRUCTION_CALL,         /* of @target */
	INSTRUCTION_CALL_POINTER, /* through a register or memory */
	INSTRUCTION_JUMP,         /* to @target */
	INSTRUCTION_JUMP_POINTER, /* through @reg, or through memory */
	INSTRUCTION_BRANCH,       /* to @target, or not */
	INSTRUCTION_BRANCH_UNEQUAL,
	INSTRUCTION_RETURN,
	INSTRUCTION_STOP, /* execution does not pass it */
	INSTRUCTION_BAD,  /* no instruction, or one that moves the stack as no compiler does */
};

struct instruction {
	uint8_t length;
	uint8_t kind; /* enum instruction_kind */
	uint8_t reg;
	uint8_t base;
	bool is_indexed;    /* JUMP_POINTER: through memory at a register times something */
	bool is_vector;     /* has VEX or EVEX encoding, and leaves the general registers alone */
	uint16_t writes;    /* a bit for each register that it writes; not SP if @kind tells how */
	uint8_t store_base; /* it writes memory at store_base + store_value */
	uint8_t store_reg;  /* it stores all of this register there; else REGISTER_NONE */
	uint32_t store_bytes; /* 0: it writes no memory at a register plus a number */
	int64_t store_value;
	int64_t value;
	uint64_t target;
};

/* Decode the instruction at @code, whose address is @vaddr, from at most @n bytes. */
struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr);

/* Is @i, at @code, a system call? It may not return, like a call. */
bool instruction_is_system_call(const uint8_t *code, const struct instruction *i);
