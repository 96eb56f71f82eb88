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

/*
 * The one place that asks which architecture this is. #include ARCH_OWN(arch.h) takes arch.h from
 * the architecture's own folder. For arch/ only.
 *
 * A BPF program runs on the machine that it walks the stacks of. libbpf's headers have a name for
 * that machine, too, and its compiler knows none.
 */
#define ARCH_STRING_OF(text) #text
#define ARCH_STRING(text) ARCH_STRING_OF(text)

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a path has none. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define ARCH_OWN(header) ARCH_STRING(arch/x86_64/header)
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define ARCH_OWN(header) ARCH_STRING(arch/aarch64/header)
#else
#error "no folder of src/arch/ is for this architecture: see doc/HOWTO_ADD_ARCHITECTURE.md"
#endif
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

#include ARCH_OWN(arch.h)
