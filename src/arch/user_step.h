/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/user_step.h - from a frame to its caller, as far as the architecture decides how. Pure
 * inline functions for both sides, BPF programs and user space. There is no libc, and every loop
 * has a bound. bpf/user_step.h chooses among them, and has the search for a rule.
 *
 * A frame's registers may be known or not. In the innermost frame, and in one that a signal
 * interrupted, all are known. In a caller's frame, the stack pointer, the frame pointer and the
 * third register are. Nearly all rules need only the first two.
 *
 * An architecture provides, in its own user_step.h:
 *
 *	UNWIND_BY_FRAMES(kind)    the rule of @kind in a function that keeps a frame pointer
 *	UNWIND_AT_ENTRY           the rule at a function's first instruction, whatever its rows say
 *	unwind_signal()           step from a signal handler's return to the interrupted frame
 *	unwind_call()             step to the caller, by a rule that gives its place
 *	unwind_quickly()          the same for nearly all frames, from a window alone
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "arch/registers.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/*
 * The kinds of rules. The CFA is the stack pointer before the call, and the caller's. The frame
 * pointer and the third register are saved at base + 8 * @fp and base + 8 * @third. The base is the
 * CFA or, in the kinds _BY_FP, this frame's own frame pointer. The architecture says where the
 * return address is. It need not know the kinds that its arch_rule_of() never gives.
 */
enum unwind_kind {
	UNWIND_NO_ROW,      /* all zero: no row covers this address */
	UNWIND_UNFIT,       /* a row that no rule can express */
	UNWIND_OUTERMOST,   /* nobody called: _start, or a thread's first function */
	UNWIND_SIGNAL,      /* the return from a signal handler, behind the kernel's frame */
	UNWIND_IS,          /* CFA = reg + offset */
	UNWIND_IS_BY_FP,    /* the same, while the stack is being realigned */
	UNWIND_AT,          /* CFA = *(reg + offset) */
	UNWIND_AT_BY_FP,    /* CFA = *(reg + offset), in a realigned stack */
	UNWIND_AT_8,        /* CFA = *(reg + offset) + 8 */
	UNWIND_PLT,         /* CFA = reg + offset + ((pc & 15) >= @fp ? 8 : 0); @third is 0 */
	UNWIND_PC_IN,       /* CFA = stack pointer + offset; the return address is in reg: vfork */
	UNWIND_FRAMES,      /* see UNWIND_FRAME_POINTERS */
	UNWIND_MADE_FRAMES, /* the same in code of a JIT compiler: see unwind_end_of_chain() */
	/*
	 * As UNWIND_IS, where a signal handler has put the frame in between: nobody called, and
	 * execution stood at the "return address".
	 */
	UNWIND_PUSHED,
	/*
	 * As UNWIND_IS, but the outermost frame if the result is 0: behind the system call of a
	 * clone(), the child is on a stack of its own.
	 */
	UNWIND_CLONED,
	/* As UNWIND_IS, for a JIT compiler's function without a frame pointer: see
	   arch/user_step.h. */
	UNWIND_MADE_BARE,
};

struct unwind_rule {
	__s32 offset;
	__s16 fp;   /* 0: the caller's frame pointer is this frame's, except in the kinds _BY_FP */
	__s8 third; /* 0: the caller's third register is this frame's */
	__u8 how;   /* enum unwind_kind | register << 4 */
};
_Static_assert(sizeof(struct unwind_rule) == 8, "abi");

#define UNWIND_HOW(kind, reg) ((__u8)((kind) | (reg) << 4))
#define UNWIND_FP_LOST (-32768) /* the caller's frame pointer is lost */
#define UNWIND_THIRD_LOST (-128)

/*
 * The rule for code with frame pointers and without rows (JIT code, some of Go's). In the outermost
 * frame the frame pointer is 0. If it cannot be a frame pointer, the code may use it for something
 * else, and the walk ends with UNWIND_END_CHAIN.
 */
#define UNWIND_FRAME_POINTERS UNWIND_BY_FRAMES(UNWIND_FRAMES)
#define UNWIND_LIKELY_STACK_BYTES (64UL << 20)

/* Why a walk ends; UNWIND_GOES_ON: it does not. */
enum unwind_end {
	UNWIND_GOES_ON,
	UNWIND_END_ROOT,
	UNWIND_END_NO_MAPPING,   /* no mapping is known at the address */
	UNWIND_END_NO_TABLE_YET, /* the mapping's table is being made */
	UNWIND_END_RING_FULL,    /* either of these, and the hit cannot be deferred */
	UNWIND_END_NO_TABLE,     /* the mapping has no table, and its code no frame pointers */
	UNWIND_END_NO_ROW,
	UNWIND_END_UNFIT,      /* also: the rule needs a register that is not known here */
	UNWIND_END_UNREADABLE, /* a page of the stack is not resident */
	UNWIND_END_NOT_ADVANCING,
	UNWIND_END_CHAIN,  /* the frame pointer is none */
	UNWIND_END_PROBED, /* a return probe's trampoline has replaced the return address */
	UNWIND_END_DEPTH,
	UNWIND_END_NOT_RECORDED, /* of a deferred hit: behind the recorded part of the stack */
};

struct unwind_regs {
	__u64 of[UNWIND_N_REGISTERS];
	__u64 pc;
	__u32 known;    /* a bit for each register whose value is known */
	__u16 is_exact; /* execution stands at pc; else pc is a return address */
	__u16 n_turns;  /* how often the walk led down the stack */
};

/*
 * A part of a stack, read at once. Reading one word of user memory costs as much as reading all of
 * these. Each read disables page faults, opens user memory and, on many CPUs, fences.
 */
#define WINDOW_WORDS 128
#define WINDOW_BYTES (WINDOW_WORDS * sizeof(__u64))

struct unwind_window {
	__u64 base;    /* user address of the first word */
	__u64 n_valid; /* bytes: a frame that begins below this offset is in @words */
	__u64 words[WINDOW_WORDS];
};

/*
 * Stacks grow down, so a caller's frame is further up. Alternate signal stacks, coroutines, and
 * code that continues on a larger stack may lead back down, but not again and again.
 */
#define UNWIND_MAX_TURNS 8

/* Read the word at user address @at. False: it cannot be read. */
typedef _Bool unwind_read(void *from, __u64 at, __u64 *ret);

static __always_inline _Bool unwind_is_known(const struct unwind_regs *regs, __u32 reg)
{
	return regs->known >> reg & 1;
}

/* May the caller's stack pointer be @cfa? False: too often, it was not further up. */
static __always_inline _Bool unwind_is_way_on(struct unwind_regs *regs, __u64 cfa)
{
	if (cfa > regs->of[UNWIND_REG_SP])
		return 1;
	return cfa != regs->of[UNWIND_REG_SP] && ++regs->n_turns <= UNWIND_MAX_TURNS;
}

/*
 * Restore the caller's @reg, saved at @base + 8 * @words. If that cannot be read, the register is
 * not known, which may not matter. Behind the end of a realigned frame, gcc's CFI leaves the frame
 * pointer at its old place.
 */
static __always_inline void unwind_saved(struct unwind_regs *regs, __u32 reg, __u64 base,
					 __s32 words, unwind_read *read, void *from)
{
	__u32 bit = 1U << reg;

	if (read(from, base + 8 * (__u64)words, &regs->of[reg]))
		regs->known |= bit;
	else
		regs->known &= ~bit;
}

/*
 * Read the word at @at, which is aligned as the window's words. False: the window does not contain
 * it.
 */
static __always_inline _Bool unwind_in_window(const struct unwind_window *w, __u64 at, __u64 *ret)
{
	at -= w->base;
	if (at >= w->n_valid || at > WINDOW_BYTES - sizeof(*ret))
		return 0;
	*ret = *(const __u64 *)((const char *)w->words + at);
	return 1;
}

/*
 * What the bytes of code tell a walk where no row does. Most functions look at the 8 bytes of a
 * word at once, without a branch, because the verifier would follow each. An architecture provides,
 * for checked steps (bpf/user_step.h):
 *
 *	code_may_be_call()     may the instruction before a return address be a call?
 *
 * For code of JIT compilers, where the set-up of a function's frame tells whether it keeps a frame
 * pointer:
 *
 *	made_setups()          where in a word does an instruction of a set-up begin?
 *	made_length()          that instruction's length
 *	made_rule()            the rule that it gives
 */
#define CODE_EACH(byte) ((byte)*0x0101010101010101ULL)

/* A word with 0x80 in each byte where @word has 0, and 0 elsewhere. */
static __always_inline __u64 code_zeros(__u64 word)
{
	return ~(((word & CODE_EACH(0x7f)) + CODE_EACH(0x7f)) | word | CODE_EACH(0x7f));
}

static __always_inline __u64 code_are(__u64 word, __u64 byte)
{
	return code_zeros(word ^ CODE_EACH(byte));
}

/* The word that begins @n bytes behind @word. @next follows @word. */
static __always_inline __u64 code_behind(__u64 word, __u64 next, __u32 n)
{
	return word >> n * 8 | next << (64 - n * 8);
}

/* The number of the last byte that @found marks. @found is a result like that of code_zeros(). */
static __always_inline __u32 code_last(__u64 found)
{
	__u32 at = 0;

	for (__u32 i = 1; i < 8; i++)
		at = found >> i * 8 ? i : at;
	return at;
}

#include ARCH_OWN(user_step.h)
