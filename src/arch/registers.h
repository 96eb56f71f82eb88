/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/registers.h - the registers that other rooms may name, in three numberings. An architecture
 * defines each as constants:
 *
 *	UNWIND_REG_SP, UNWIND_REG_FP         in walks and rules: below 16, because a rule has four
 *bits UNWIND_REG_THIRD                 one more register that a rule can restore UNWIND_REG_RESULT
 *the result of a system call UNWIND_N_REGISTERS           registers of struct unwind_regs; at most
 *32 UNWIND_ALL_KNOWN             a bit for each of them
 *
 *	CFI_SP, CFI_FP, CFI_THIRD    in CFI: DWARF's numbers
 *	CFI_RETURN_ADDRESS           the column of the return address
 *	CFI_N_REGISTERS              general registers, which expressions may name
 *
 *	REGISTER_SP, REGISTER_FP, REGISTER_THIRD     in struct instruction: below REGISTER_NONE
 *	REGISTER_NONE                                16: struct instruction has 16 bits of registers
 *
 * The third register is the architecture's choice. Calls preserve it, or it holds the return
 * address.
 */
#pragma once

#include "arch/own.h"
#include ARCH_OWN(registers.h)
