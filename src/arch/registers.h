/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/registers.h - the registers that other rooms may name, in three numberings. An architecture
 * defines each as constants. In walks and rules:
 *
 *	UNWIND_REG_SP, UNWIND_REG_FP     below 16, because a rule has four bits for a register
 *	UNWIND_REG_THIRD                 one more register that a rule can restore
 *	UNWIND_REG_RESULT                the result of a system call
 *	UNWIND_N_REGISTERS               registers of struct unwind_regs; at most 32
 *	UNWIND_ALL_KNOWN                 a bit for each of them
 *
 * In CFI, by DWARF's numbers:
 *
 *	CFI_SP, CFI_FP, CFI_THIRD
 *	CFI_RETURN_ADDRESS               the column of the return address
 *	CFI_N_REGISTERS                  general registers, which expressions may name
 *
 * In struct instruction:
 *
 *	REGISTER_SP, REGISTER_FP, REGISTER_THIRD     below REGISTER_NONE
 *	REGISTER_NONE                                at most 16: there are 16 bits of registers
 *
 * The third register is the architecture's choice. Calls preserve it, or it holds the return
 * address.
 */
#pragma once

#include "arch/own.h"
#include ARCH_OWN(registers.h)
