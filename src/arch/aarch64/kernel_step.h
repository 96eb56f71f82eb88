/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/aarch64/kernel_step.h - the kernel has no unwind tables for aarch64: it keeps frame
 * pointers, and its helper walks by them. For arch/kernel_step.h only.
 */
#pragma once

#include "arch/kernel_step.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define KERNEL_HAS_TABLES 0
#define KERNEL_RULE_REPLACED 0

static __always_inline enum kernel_end kernel_step(struct kernel_regs *regs, __u64 rule,
						   unwind_read *read, void *from)
{
	return KERNEL_END_NO_ROW;
}

static __always_inline _Bool kernel_quickly(struct kernel_regs *regs, __u64 rule, unwind_read *read,
					    void *from)
{
	return 0;
}

static __always_inline _Bool kernel_is_entry(const struct kernel_regs *regs, __u64 rule,
					     unwind_read *read, void *from)
{
	return 0;
}

static __always_inline _Bool kernel_leave_tracing(struct kernel_regs *regs, unwind_read *read,
						  void *from)
{
	return 0;
}

#pragma GCC diagnostic pop
