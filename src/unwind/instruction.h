/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/instruction.h - the effect of one instruction of x86-64 on the stack and on the registers
 * that calls keep. Zydis decodes; this picks the few of its thousand mnemonics that matter here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers by the machine's numbers, which are not DWARF's. */
enum machine_register {
	REGISTER_RAX = 0,
	REGISTER_RCX = 1,
	REGISTER_RDX = 2,
	REGISTER_RBX = 3,
	REGISTER_RSP = 4,
	REGISTER_RBP = 5,
	REGISTER_NONE = 16,
};

enum instruction_kind {
	INSTRUCTION_OTHER,        /* writes registers in @writes, nothing more */
	INSTRUCTION_NOP,          /* nothing at all: it may be there for alignment */
	INSTRUCTION_PUSH,         /* of @reg; REGISTER_NONE: of something else */
	INSTRUCTION_POP,          /* to @reg; likewise */
	INSTRUCTION_ADD,          /* reg += value; for rsp alone */
	INSTRUCTION_MOVE,         /* reg = base */
	INSTRUCTION_LEA,          /* reg = base + value */
	INSTRUCTION_ADDRESS,      /* reg = target, in code or data */
	INSTRUCTION_LOAD,         /* reg = 8 bytes at base + value */
	INSTRUCTION_LOAD_OFFSET,  /* reg = the signed 4 bytes at base + 4 * something */
	INSTRUCTION_COMPARE,      /* of a register with @value */
	INSTRUCTION_COMPARE_SP,   /* of rsp with @reg */
	INSTRUCTION_LEAVE,        /* rsp = rbp, pop rbp */
	INSTRUCTION_CALL,         /* of @target */
	INSTRUCTION_CALL_POINTER, /* through a register or memory */
	INSTRUCTION_JUMP,         /* to @target */
	INSTRUCTION_JUMP_POINTER, /* reg: through it; target: a table of addresses, else 0 */
	INSTRUCTION_BRANCH,       /* to @target, or not */
	INSTRUCTION_BRANCH_ABOVE, /* likewise, after an unsigned comparison: where it is greater */
	INSTRUCTION_BRANCH_UNEQUAL,
	INSTRUCTION_RETURN,
	INSTRUCTION_STOP, /* execution does not come past it */
	INSTRUCTION_BAD,  /* none, or one that moves the stack as compilers do not */
};

struct instruction {
	uint8_t length;
	uint8_t kind; /* enum instruction_kind */
	uint8_t reg;
	uint8_t base;
	uint16_t writes; /* a bit for each register that is written, but rsp where @kind says how */
	uint8_t store_base;   /* of memory that is written, at store_base + store_value */
	uint8_t store_reg;    /* the whole of it is stored; else REGISTER_NONE */
	uint32_t store_bytes; /* 0: none is written that a register and a number lead to */
	int64_t store_value;
	int64_t value;
	uint64_t target;
};

/* The instruction at @code, whose address is @vaddr; at most @n bytes of it. */
struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr);

/* DWARF's number of a register. */
uint8_t instruction_dwarf_register(uint8_t reg);
