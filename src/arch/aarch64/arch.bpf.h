/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/aarch64/arch.bpf.h - the kernel's registers of aarch64. For arch/arch.bpf.h only. */
#pragma once

#include "arch/user_step.h"

/*
 * arch/arm64/include/asm/ptrace.h, as far as all kernels have it: user_pt_regs of the ABI, and two
 * members behind it.
 */
struct pt_regs {
	unsigned long x[31], sp, pc, pstate;
	unsigned long orig_x0;
	int syscallno;
};

#define PSTATE_MODE 15 /* 0: EL0, user space */
#define PSTATE_32_BIT 16

static __always_inline __u64 regs_pc(const struct pt_regs *regs)
{
	return regs->pc;
}

static __always_inline __u64 regs_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

static __always_inline __u64 regs_fp(const struct pt_regs *regs)
{
	return regs->x[29];
}

/* Also of a perf event's context: the verifier allows only loads of 8 bytes there. */
static __always_inline _Bool regs_are_of_user(const struct pt_regs *regs)
{
	return !(*(const volatile unsigned long *)&regs->pstate & PSTATE_MODE);
}

#define PSTATE_MADE_UP 5 /* PSR_MODE_EL1h alone: perf_arch_fetch_caller_regs() */

static __always_inline _Bool sample_is_exact(const struct pt_regs *ctx)
{
	return *(const volatile unsigned long *)&ctx->pstate != PSTATE_MADE_UP;
}

#define RETURN_IS_IN_REGISTER 1

/* perf_arch_fetch_caller_regs() sets x29 to the frame whose return address is the pc. */
#define KERNEL_DOUBLES_FIRST 1

static __always_inline __u64 regs_return_address(const struct pt_regs *regs)
{
	return regs->x[30];
}

/*
 * Without the signature of pointer authentication. It is above the bits of an address: above 48, or
 * 52 if the kernel has as many. mmap() gives no address above 48 bits unless it is asked to.
 */
#define USER_ADDRESS_MASK ((1ULL << 48) - 1)

static __always_inline __u64 user_address_of(__u64 word)
{
	return word & USER_ADDRESS_MASK;
}

static __always_inline _Bool regs_are_of_64_bit(const struct pt_regs *regs)
{
	return !(regs->pstate & PSTATE_32_BIT);
}

/*
 * In a system call, the pc is behind the instruction, and syscallno is the call's number, as x8.
 * The program may also go on elsewhere. In a signal handler, or at the instruction once more, the
 * kernel clears syscallno; in a new program, it clears x8.
 */
static __always_inline _Bool regs_are_exact(const struct pt_regs *regs)
{
	return regs->syscallno == -1 || (int)regs->x[8] != regs->syscallno;
}

/* A backend may make up pstate from the mode alone, with which interrupts look as if they were on.
 */
static __always_inline _Bool regs_have_flags(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

#define PSTATE_NO_INTERRUPTS (1 << 7)

static __always_inline _Bool regs_are_interruptible(const struct pt_regs *regs)
{
	return !(regs->pstate & PSTATE_NO_INTERRUPTS);
}

static __always_inline void regs_copy(struct unwind_regs *to, const struct pt_regs *regs,
				      _Bool is_exact)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < UNWIND_X30; i++)
		to->of[i] = regs->x[i];
	to->of[UNWIND_X30] = regs->x[30];
	to->of[UNWIND_X29] = regs->x[29];
	to->of[UNWIND_XSP] = regs->sp;
	to->pc = regs->pc;
	to->known = UNWIND_ALL_KNOWN;
	to->is_exact = is_exact;
	to->n_turns = 0;
}

#define PAGE_SHIFT 12 /* Debian's kernels; others may have 14 or 16 */

static __always_inline _Bool regs_read_caller(void *ctx, struct kernel_regs *ret, unwind_read *read,
					      void *from)
{
	(void)ctx;
	(void)ret;
	(void)read;
	(void)from;
	return 0;
}
