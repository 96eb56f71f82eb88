/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/instruction.h - the effect of an x86-64 instruction on the stack and on the registers that
 * calls preserve. Zydis decodes. This picks the few of its thousand mnemonics that matter here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers, with the machine's numbers, which differ from DWARF's. */
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
	INSTRUCTION_OTHER,        /* writes the registers in @writes, and maybe memory */
	INSTRUCTION_NOP,          /* no effect; it may be padding */
	INSTRUCTION_PUSH,         /* of @reg; REGISTER_NONE: of something else */
	INSTRUCTION_POP,          /* to @reg; REGISTER_NONE: to something else */
	INSTRUCTION_ADD,          /* reg += value; for rsp alone */
	INSTRUCTION_MOVE,         /* reg = base */
	INSTRUCTION_LEA,          /* reg = base + value */
	INSTRUCTION_ADDRESS,      /* reg = target, in code or data */
	INSTRUCTION_LOAD,         /* reg = 8 bytes at base + value */
	INSTRUCTION_LOAD_OFFSET,  /* reg = the signed 4 bytes at base + 4 * something */
	INSTRUCTION_COMPARE,      /* of something with @value */
	INSTRUCTION_COMPARE_SP,   /* of rsp with @reg */
	INSTRUCTION_LEAVE,        /* rsp = rbp, pop rbp */
	INSTRUCTION_CALL,         /* of @target */
	INSTRUCTION_CALL_POINTER, /* through a register or memory */
	INSTRUCTION_JUMP,         /* to @target */
	INSTRUCTION_JUMP_POINTER, /* through @reg; or through a table of addresses at @target */
	INSTRUCTION_BRANCH,       /* to @target, or not */
	INSTRUCTION_BRANCH_ABOVE, /* to @target if an unsigned comparison gives greater (ja) */
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
	uint16_t writes;    /* a bit for each register that it writes; not rsp if @kind tells how */
	uint8_t store_base; /* it writes memory at store_base + store_value */
	uint8_t store_reg;  /* it stores all of this register there; else REGISTER_NONE */
	uint32_t store_bytes; /* 0: it writes no memory at a register plus a number */
	int64_t store_value;
	int64_t value;
	uint64_t target;
};

/* Decode the instruction at @code, whose address is @vaddr, from at most @n bytes. */
struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr);

/* DWARF's number of a register. */
uint8_t instruction_dwarf_register(uint8_t reg);
