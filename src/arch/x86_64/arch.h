/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/x86_64/arch.h - constants of x86-64. For arch/arch.h only. */
#pragma once

#define ARCH_NAME "x86-64"
#define ARCH_HAS_TABLES 1
#define ARCH_TRIPLET "x86_64-linux-gnu"
#define ARCH_MACHINE 62                /* EM_X86_64 */
#define ARCH_MACHINE_32 3              /* EM_386 */
#define ARCH_AUDIT 0xc000003eU         /* AUDIT_ARCH_X86_64 */
#define ARCH_FOREIGN_CALLS 0x40000000U /* calls of x32 begin here */
#define ARCH_INSTRUCTION_BYTES 15
#define ARCH_RELATIVE 8 /* R_X86_64_RELATIVE */
#define ARCH_CALL_PUSHES 1
#define ARCH_RETURN_HOW CFI_OTHER /* all CFI gives it */

#define ARCH_ARGUMENTS                   \
	{                                \
		112, 104, 96, 88, 72, 64 \
	}                    /* rdi rsi rdx rcx r8 r9 */
#define ARCH_RETURN_VALUE 80 /* rax */
#define ARCH_STACK_POINTER 152
#define ARCH_STACK_ARGUMENTS 8 /* behind the return address */

#define ARCH_STUB_BYTES 16 /* some have 8 */
#define ARCH_CALL_BYTES 7
#define ARCH_START_BYTES 8
#define ARCH_LINKER_START_BYTES 12

#define ARCH_GO_QUANTUM 1
#define ARCH_GO_START "_rt0_amd64"
#define ARCH_GO_SAVE_BEFORE 1
#define ARCH_GO_SAVE_BYTES 5
#define ARCH_GO_POP_BYTES 2
