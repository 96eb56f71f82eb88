/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/arch.bpf.h - the part of the architecture that BPF programs alone use: the kernel's
 * registers. arch/user_step.h is for both sides.
 *
 * An architecture provides, in its own arch.bpf.h, struct pt_regs as the kernel's ABI has it, and:
 *
 *	regs_pc(), regs_sp(), regs_fp()     a register
 *	RETURN_IS_IN_REGISTER       1: at a function's entry, it is in a register, which
 *	regs_return_address()       gives; 0: it is at the stack pointer
 *	user_address_of()           a return address, without what else the word may have
 *	KERNEL_DOUBLES_FIRST        1: at a tracepoint, the kernel's helper may give it twice
 *	regs_are_of_user()          did the thread enter the kernel from user space?
 *	regs_are_of_64_bit()        likewise, from a program of 64 bits
 *	regs_are_exact()            does execution stand at the pc? Not behind a system call
 *	regs_have_flags()           are the CPU's flags known? Some backends leave them out
 *	regs_are_interruptible()    by these flags, were interrupts on?
 *	regs_copy()                 the registers for a walk by tables
 *	regs_read_caller()          at a tracepoint: its caller's registers, as far as the kernel
 *	                            notes them. False: they cannot be read, or are the user's
 *	PAGE_SHIFT                  the kernel's pages have 1 << PAGE_SHIFT bytes
 */
#pragma once

#include "arch/kernel_step.h"
#include "arch/user_step.h"

/* A function that keeps a frame pointer saves these words where that points. */
struct user_frame {
	unsigned long next; /* the caller's frame pointer */
	unsigned long return_address;
};

#include ARCH_OWN(arch.bpf.h)
