/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/kernel_step.h - from a frame of the kernel on x86-64 to its caller, as the kernel's
 * own unwinder does it by ORC (arch/x86/kernel/unwind_orc.c). For arch/kernel_step.h only.
 *
 *	bit 0       ORC_QUICK: kernel_quickly() can do the step
 *	bit 1       ORC_BY_FP: then the CFA is rbp + offset, else rsp + offset
 *	bit 2       ORC_FP_SAVED: then rbp is saved at the CFA + fp
 *	bits 4-7    enum orc_kind
 *	bits 8-11   enum orc_base: where the CFA is
 *	bits 12-13  enum orc_fp: where the caller's rbp is
 *	bit 14      ORC_SIGNAL: the caller was interrupted, so its rip is no return address
 *	bits 32-47  fp, signed
 *	bits 48-63  offset, signed
 */
#pragma once

#include "arch/kernel_step.h"

#define KERNEL_HAS_TABLES 1

enum orc_kind {
	ORC_NO_ROW,
	ORC_UNDEFINED,
	ORC_REPLACED, /* never in the kernel's tables: see KERNEL_END_REPLACED */
	ORC_OUTERMOST,
	ORC_CALL, /* a return address lies below the CFA */
	ORC_REGS, /* a struct pt_regs lies at the CFA */
	ORC_IRET, /* the CPU's own frame of an interrupt lies at the CFA */
};

enum orc_base {
	ORC_BASE_UNFIT, /* a register that is known in interrupted code alone */
	ORC_BASE_SP,    /* rsp + offset */
	ORC_BASE_FP,    /* rbp + offset */
	ORC_BASE_IN_SP, /* [rsp] + offset, where the stack was switched */
	ORC_BASE_AT_FP, /* [rbp + offset] */
};

enum orc_fp {
	ORC_FP_KEPT,
	ORC_FP_AT_CFA, /* [CFA + fp] */
	ORC_FP_AT_FP,  /* [rbp + fp] */
	ORC_FP_UNFIT,
};

#define KERNEL_RULE_REPLACED (ORC_REPLACED << 4)
#define ORC_QUICK 1
#define ORC_BY_FP 2
#define ORC_FP_SAVED 4
#define ORC_SIGNAL (1 << 14)

static __always_inline __u64 orc_rule_offset(__u64 rule)
{
	return (__u64)((__s64)rule >> 48);
}

static __always_inline __u64 orc_rule_fp(__u64 rule)
{
	return (__u64)((__s64)(rule << 16) >> 48);
}

/* Offsets in struct pt_regs, and in the CPU's frame at its end. */
#define ORC_REGS_FP 32
#define ORC_REGS_IRET 128
#define ORC_IRET_CS 8
#define ORC_IRET_SP 24
#define ORC_STACK_BYTES 16384 /* the most that a stack of the kernel has */
#define ORC_USER_BITS 3       /* of cs: not 0 in user space */

/*
 * Can rbp be a frame pointer? If it cannot, the walk must not read there: any other address may
 * belong to a device.
 */
static __always_inline _Bool orc_is_fp_likely(const struct kernel_regs *regs)
{
	return regs->fp - regs->sp < ORC_STACK_BYTES;
}

/* Put the CFA into *@ret. */
static __always_inline enum kernel_end orc_find_cfa(const struct kernel_regs *regs, __u64 rule,
						    unwind_read *read, void *from, __u64 *ret)
{
	const __u32 base = rule >> 8 & 15;
	const __u64 offset = orc_rule_offset(rule);
	__u64 at = base == ORC_BASE_FP || base == ORC_BASE_AT_FP ? regs->fp : regs->sp;

	if (base < ORC_BASE_SP || base > ORC_BASE_AT_FP)
		return KERNEL_END_UNFIT;
	if ((base == ORC_BASE_FP || base == ORC_BASE_AT_FP) && !orc_is_fp_likely(regs))
		return KERNEL_END_NOT_ADVANCING;
	if (base != ORC_BASE_IN_SP)
		at += offset;
	if (base < ORC_BASE_IN_SP) {
		*ret = at;
		return KERNEL_GOES_ON;
	}
	if (!read(from, at, ret))
		return KERNEL_END_UNREADABLE;
	if (base == ORC_BASE_IN_SP)
		*ret += offset;
	return KERNEL_GOES_ON;
}

/* Take the registers that an interrupt left in the CPU's frame at @at. */
static __always_inline enum kernel_end orc_take_iret(struct kernel_regs *regs, __u64 at,
						     unwind_read *read, void *from)
{
	__u64 cs;

	if (!read(from, at + ORC_IRET_CS, &cs))
		return KERNEL_END_UNREADABLE;
	if (cs & ORC_USER_BITS)
		return KERNEL_END_ROOT;
	if (!read(from, at, &regs->pc) || !read(from, at + ORC_IRET_SP, &regs->sp))
		return KERNEL_END_UNREADABLE;
	return KERNEL_GOES_ON;
}

/* The caller's rbp. @cfa: the rule's. */
static __always_inline _Bool orc_take_fp(struct kernel_regs *regs, __u64 rule, __u64 cfa,
					 _Bool is_fp_likely, unwind_read *read, void *from)
{
	const __u32 kind = rule >> 4 & 15;
	__u64 at = cfa + orc_rule_fp(rule);

	switch (rule >> 12 & 3) {
	case ORC_FP_KEPT:
		if (kind != ORC_REGS)
			return 1;
		at = cfa + ORC_REGS_FP;
		break;
	case ORC_FP_AT_CFA:
		break;
	case ORC_FP_AT_FP:
		if (!is_fp_likely)
			return 0;
		at = regs->fp + orc_rule_fp(rule);
		break;
	default:
		return 0;
	}
	return read(from, at, &regs->fp);
}

static __always_inline enum kernel_end orc_end_of_kind(__u32 kind)
{
	switch (kind) {
	case ORC_NO_ROW:
		return KERNEL_END_NO_ROW;
	case ORC_REPLACED:
		return KERNEL_END_REPLACED;
	case ORC_OUTERMOST:
		return KERNEL_END_ROOT;
	case ORC_CALL:
	case ORC_REGS:
	case ORC_IRET:
		return KERNEL_GOES_ON;
	default:
		return KERNEL_END_UNDEFINED;
	}
}

/*
 * Stacks grow down, so a caller's frame is further up. An interrupt's registers, or the place where
 * the kernel switched the stack, may lead to another stack.
 */
static __always_inline _Bool orc_is_way_on(__u64 rule, __u64 sp, __u64 next)
{
	return next > sp || (rule >> 4 & 15) != ORC_CALL || (rule >> 8 & 15) > ORC_BASE_FP;
}

/*
 * One step. @regs become the caller's, or are undefined if the walk ends. It calls @read with
 * @from, at most 5 times.
 */
static __always_inline enum kernel_end kernel_step(struct kernel_regs *regs, __u64 rule,
						   unwind_read *read, void *from)
{
	const __u32 kind = rule >> 4 & 15;
	const __u64 sp = regs->sp;
	const _Bool is_fp_likely = orc_is_fp_likely(regs);
	enum kernel_end end = orc_end_of_kind(kind);
	__u64 cfa;

	if (!end)
		end = orc_find_cfa(regs, rule, read, from, &cfa);
	if (end)
		return end;
	if (kind == ORC_CALL) {
		if (!read(from, cfa - sizeof(cfa), &regs->pc))
			return KERNEL_END_UNREADABLE;
		regs->sp = cfa;
	} else {
		end = orc_take_iret(regs, kind == ORC_REGS ? cfa + ORC_REGS_IRET : cfa, read, from);
		if (end)
			return end;
	}
	if (!orc_take_fp(regs, rule, cfa, is_fp_likely, read, from))
		return KERNEL_END_UNREADABLE;
	regs->is_exact = (rule & ORC_SIGNAL) != 0;
	return orc_is_way_on(rule, sp, regs->sp) ? KERNEL_GOES_ON : KERNEL_END_NOT_ADVANCING;
}

/*
 * The same for nearly all frames. It reads two words at most, of this stack. False: do
 * kernel_step(); @regs are as before.
 */
static __always_inline _Bool kernel_quickly(struct kernel_regs *regs, __u64 rule, unwind_read *read,
					    void *from)
{
	const __u64 cfa = (rule & ORC_BY_FP ? regs->fp : regs->sp) + orc_rule_offset(rule);
	__u64 pc, fp = regs->fp;

	if (!(rule & ORC_QUICK) || cfa - regs->sp - 1 >= ORC_STACK_BYTES ||
	    !read(from, cfa - sizeof(cfa), &pc))
		return 0;
	if (rule & ORC_FP_SAVED && !read(from, cfa + orc_rule_fp(rule), &fp))
		return 0;
	regs->pc = pc;
	regs->sp = cfa;
	regs->fp = fp;
	regs->is_exact = 0;
	return 1;
}

/*
 * Did the user enter the kernel in this frame? Then kernel_step() ends with KERNEL_END_ROOT. False:
 * it may all the same.
 */
static __always_inline _Bool kernel_is_entry(const struct kernel_regs *regs, __u64 rule,
					     unwind_read *read, void *from)
{
	__u64 cs;

	return (rule & 0xff0) == (ORC_REGS << 4 | ORC_BASE_SP << 8) &&
	       read(from, regs->sp + orc_rule_offset(rule) + ORC_REGS_IRET + ORC_IRET_CS, &cs) &&
	       cs & ORC_USER_BITS;
}

/*
 * At a tracepoint, and at some software events, the stack pointer is that of a function of the
 * tracing code, which has a frame pointer. Step out of it.
 */
static __always_inline _Bool kernel_leave_tracing(struct kernel_regs *regs, unwind_read *read,
						  void *from)
{
	__u64 pc;

	if (!read(from, regs->sp + sizeof(pc), &pc) || pc != regs->pc ||
	    !read(from, regs->sp, &regs->fp))
		return 0;
	regs->sp += 2 * sizeof(pc);
	return 1;
}
