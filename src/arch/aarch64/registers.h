/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/aarch64/registers.h - the registers of aarch64 in three numberings. CFI has DWARF's numbers.
 * Walks and instructions number x0 to x12 as they are. The remaining three of 16 numbers are the
 * registers that a rule can name.
 *
 * The third register of a rule is x30, the link register. It has the return address until a
 * function saves it.
 */
#pragma once

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
