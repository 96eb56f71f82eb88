/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/kernel_step.h - from a frame of the kernel to its caller, by the kernel's own unwind tables.
 * Pure inline functions for both sides, BPF programs and user space. There is no libc and no loop.
 *
 * The kernel has such tables on some architectures only (KERNEL_HAS_TABLES). arch/arch.h turns
 * their entries into rules. A rule is one number, so that a program reads it at once; 0 is no rule.
 *
 * A walk that meets anything out of the ordinary ends with a reason. Its stack is then thrown away,
 * and the kernel's helper walks instead. So a rule is right or absent here, too.
 *
 * An architecture provides, in its own kernel_step.h:
 *
 *	KERNEL_HAS_TABLES            0: nothing here is ever used
 *	KERNEL_RULE_REPLACED         the rule of a return address that tracing has replaced
 *	kernel_step()                step to the caller by a rule
 *	kernel_quickly()             the same for nearly all frames
 *	kernel_is_entry()            does the step end at the user's registers?
 *	kernel_leave_tracing()       from a tracepoint's registers to the traced function's
 */
#pragma once

#include "arch/user_step.h"

/* Why a walk ends; KERNEL_GOES_ON: it does not. Only a walk to KERNEL_END_ROOT gives a stack. */
enum kernel_end {
	KERNEL_GOES_ON,
	KERNEL_END_ROOT,       /* the kernel was entered here, or a thread begins here */
	KERNEL_END_START,      /* the event's registers are none that a walk can start with */
	KERNEL_END_NO_ROW,     /* code that no table covers: BPF programs, trampolines */
	KERNEL_END_UNDEFINED,  /* the kernel's table says that the caller cannot be found */
	KERNEL_END_UNFIT,      /* the rule needs a register that is not known */
	KERNEL_END_REPLACED,   /* a return probe or tracer has replaced the return address */
	KERNEL_END_UNREADABLE, /* a word of the stack cannot be read */
	KERNEL_END_NOT_ADVANCING,
	KERNEL_END_DEPTH, /* more frames than the kernel's helper gives */
	KERNEL_ENDS,
};

struct kernel_regs {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 is_exact; /* execution stands at pc; else pc is a return address */
};

/* The address to look up: see unwind_look_up_at(). */
static __always_inline __u64 kernel_look_up_at(const struct kernel_regs *regs)
{
	return regs->pc - !regs->is_exact;
}

#include ARCH_OWN(kernel_step.h)
