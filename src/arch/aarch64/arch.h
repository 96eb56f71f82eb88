/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/aarch64/arch.h - constants of aarch64. For arch/arch.h only. */
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
#define ARCH_START_BYTES 4
#define ARCH_LINKER_START_BYTES 20

#define ARCH_GO_QUANTUM 4
#define ARCH_GO_START "_rt0_arm64_linux"
#define ARCH_GO_SAVE_BEFORE 4
#define ARCH_GO_SAVE_BYTES 4
#define ARCH_GO_POP_BYTES 4
