/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch/x86_64/arch.bpf.h - the kernel's registers of x86-64. For arch/arch.bpf.h only. */
#pragma once

#include "arch/user_step.h"

/* arch/x86/include/uapi/asm/ptrace.h: the same in all x86-64 kernels. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#define CS_USER_64 0x33 /* __USER_CS; __USER32_CS is 0x23, and kernel threads have 0 */
#define CS_RING_MASK 3

static __always_inline __u64 regs_pc(const struct pt_regs *regs)
{
	return regs->ip;
}

static __always_inline __u64 regs_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

static __always_inline __u64 regs_fp(const struct pt_regs *regs)
{
	return regs->bp;
}

/*
 * Also of the context of a perf event's program. There the verifier allows only loads of 8 bytes,
 * and the compiler would make smaller ones.
 */
static __always_inline _Bool regs_are_of_user(const struct pt_regs *regs)
{
	return *(const volatile unsigned long *)&regs->cs & CS_RING_MASK;
}

/*
 * Are these the registers that the event interrupted? Some software events have those of a function
 * that calls perf, as tracepoints have.
 */
static __always_inline _Bool sample_is_exact(const struct pt_regs *ctx)
{
	return *(const volatile unsigned long *)&ctx->flags & 2;
}

#define RETURN_IS_IN_REGISTER 0
#define KERNEL_DOUBLES_FIRST 0

static __always_inline __u64 regs_return_address(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

static __always_inline __u64 user_address_of(__u64 word)
{
	return word;
}

static __always_inline _Bool regs_are_of_64_bit(const struct pt_regs *regs)
{
	return regs->cs == CS_USER_64;
}

/*
 * In a system call, execution does not stand at ip. orig_ax is the call's number, ip is behind the
 * instruction, and the instruction has copied ip into rcx. The program may also go on elsewhere: in
 * a new program, in a signal handler, or at the instruction once more. Then rcx differs. (System
 * calls of 32-bit programs leave ecx alone.)
 */
static __always_inline _Bool regs_are_exact(const struct pt_regs *regs)
{
	return (long)regs->orig_ax == -1 || (regs->cs == CS_USER_64 && regs->cx != regs->ip);
}

#define FLAG_ALWAYS 2 /* always set, if the flags are known */
#define FLAG_INTERRUPTS 0x200

static __always_inline _Bool regs_have_flags(const struct pt_regs *regs)
{
	return regs->flags & FLAG_ALWAYS;
}

static __always_inline _Bool regs_are_interruptible(const struct pt_regs *regs)
{
	return regs->flags & FLAG_INTERRUPTS;
}

/*
 * In a system call, the registers that rules may need are copied: a function is behind its
 * prologue there, and has its frame by rsp or rbp. UNWIND_CLONED needs rax.
 */
static __always_inline void regs_copy(struct unwind_regs *to, const struct pt_regs *regs,
				      _Bool is_exact)
{
	to->of[UNWIND_RAX] = regs->ax;
	to->of[UNWIND_RBX] = regs->bx;
	to->of[UNWIND_RDI] = regs->di; /* the return address of vfork() */
	to->of[UNWIND_RBP] = regs->bp;
	to->of[UNWIND_RSP] = regs->sp;
	to->pc = regs->ip;
	to->known = 1U << UNWIND_RAX | 1U << UNWIND_RBX | 1U << UNWIND_RDI | 1U << UNWIND_RBP |
		    1U << UNWIND_RSP;
	to->is_exact = is_exact;
	to->n_turns = 0;
	if (!is_exact)
		return;
	to->of[UNWIND_RDX] = regs->dx;
	to->of[UNWIND_RCX] = regs->cx;
	to->of[UNWIND_RSI] = regs->si;
	to->of[8] = regs->r8;
	to->of[9] = regs->r9;
	to->of[10] = regs->r10;
	to->of[11] = regs->r11;
	to->of[12] = regs->r12;
	to->of[13] = regs->r13;
	to->of[14] = regs->r14;
	to->of[15] = regs->r15;
	to->known = UNWIND_ALL_KNOWN;
}

#define PAGE_SHIFT 12

/*
 * A tracepoint's context begins with a pointer to the registers, which the verifier does not let a
 * program follow. perf_arch_fetch_caller_regs() fills in rip, cs, flags and rsp.
 */
static __always_inline _Bool regs_read_caller(void *ctx, struct kernel_regs *ret, unwind_read *read,
					      void *from)
{
	__u64 at, cs;

	*ret = (struct kernel_regs){};
	return read(from, (__u64)ctx, &at) &&
	       read(from, at + __builtin_offsetof(struct pt_regs, ip), &ret->pc) &&
	       read(from, at + __builtin_offsetof(struct pt_regs, sp), &ret->sp) &&
	       read(from, at + __builtin_offsetof(struct pt_regs, cs), &cs) && !(cs & CS_RING_MASK);
}
