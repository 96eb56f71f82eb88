/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/aarch64/arch.h - constants and registers of aarch64. For arch/registers.h only. */
#pragma once

#define ARCH_NAME "aarch64"
#define ARCH_HAS_TABLES 0
#define ARCH_TRIPLET "aarch64-linux-gnu"
#define ARCH_MACHINE 183              /* EM_AARCH64 */
#define ARCH_MACHINE_32 40            /* EM_ARM */
#define ARCH_AUDIT 0xc00000b7U        /* AUDIT_ARCH_AARCH64 */
#define ARCH_FOREIGN_CALLS UINT32_MAX /* no number: programs of 32 bits have another ARCH_AUDIT */
#define ARCH_INSTRUCTION_BYTES 4
#define ARCH_RELATIVE 1027 /* R_AARCH64_RELATIVE */
#define ARCH_CALL_PUSHES 0
#define ARCH_RETURN_HOW CFI_SAME

#define ARCH_ARGUMENTS                       \
	{                                    \
		0, 8, 16, 24, 32, 40, 48, 56 \
	} /* x0 to x7 */
#define ARCH_RETURN_VALUE 0
#define ARCH_STACK_POINTER 248
#define ARCH_STACK_ARGUMENTS 0

#define ARCH_STUB_BYTES 24 /* some have 16 */
#define ARCH_CALL_BYTES 4
#define ARCH_LINKER_START_BYTES 20

#define ARCH_GO_QUANTUM 4
#define ARCH_GO_START "_rt0_arm64_linux"
#define ARCH_GO_POP_BYTES 4

/*
 * The registers in three numberings. CFI has DWARF's numbers. Walks and instructions number x0 to
 * x12 as they are. The remaining three of 16 numbers are the registers that a rule can name.
 *
 * The third register of a rule is x30, the link register. It has the return address until a
 * function saves it.
 */

/* In walks and rules. */
#define UNWIND_X30 13
#define UNWIND_X29 14
#define UNWIND_XSP 15
#define UNWIND_N_REGISTERS 16
#define UNWIND_ALL_KNOWN 0xffffU

#define UNWIND_REG_SP UNWIND_XSP
#define UNWIND_REG_FP UNWIND_X29
#define UNWIND_REG_THIRD UNWIND_X30
#define UNWIND_REG_RESULT 0

/* In CFI. */
enum cfi_register {
	CFI_N_REGISTERS = 32, /* x0 to x30, sp */
	CFI_RETURN_ADDRESS = 30,
	CFI_SP = 31,
	CFI_FP = 29,
	CFI_THIRD = 19, /* unused: the column of the return address has x30 */
};

/* In instructions. */
enum machine_register {
	REGISTER_SP = UNWIND_XSP,
	REGISTER_FP = UNWIND_X29,
	REGISTER_THIRD = UNWIND_X30,
	REGISTER_NONE = 16,
};
