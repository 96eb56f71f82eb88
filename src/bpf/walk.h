/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/walk.h - one step of a walk by tables: from a frame to its caller. Pure inline functions for
 * both sides: BPF programs bound the loop and read user memory, and tests supply memory of their
 * own. There is no libc, and every loop has a bound.
 *
 *	rule     how to find the caller's registers
 *	entry    from this address on, that rule
 *	table    an image's entries and rules (unwind/compact.h makes them from its CFI)
 *
 * A frame's registers may be known or not. In the innermost frame, and in one that a signal
 * interrupted, all are known. In a caller's frame, rsp, rbp and rbx are. Nearly all rules need only
 * rsp and rbp. By rbx, the dynamic linker's _dl_runtime_resolve finds its caller. Rules need other
 * registers only where nothing is called: r10, rax, rsi, r13, r11. They occur in prologues and in
 * OpenSSL, in 37,900,000 rows of 2,350 files of a Debian 12.
 */
#pragma once

#include "bpf/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/* Registers, by DWARF's numbers. */
#define UNWIND_RAX 0
#define UNWIND_RDX 1
#define UNWIND_RCX 2
#define UNWIND_RBX 3
#define UNWIND_RSI 4
#define UNWIND_RDI 5
#define UNWIND_RBP 6
#define UNWIND_RSP 7
#define UNWIND_N_REGISTERS 16
#define UNWIND_ALL_KNOWN 0xffffU

/*
 * The kinds of rules. The CFA is rsp before the call. The return address is at CFA - 8, and the
 * caller's rsp is the CFA. rbp and rbx are saved at base + 8 * @bp and base + 8 * @bx. The base is
 * the CFA or, in the kinds _BY_BP, this frame's rbp.
 */
enum unwind_kind {
	UNWIND_NO_ROW,    /* all zero: no row covers this address */
	UNWIND_UNFIT,     /* a row that no rule can express; @bx: enum unwind_unfit */
	UNWIND_OUTERMOST, /* nobody called: _start, or a thread's first function */
	UNWIND_SIGNAL,    /* the return from a signal handler: rsp points to a struct ucontext */
	UNWIND_IS,        /* CFA = reg + offset */
	UNWIND_IS_BY_BP,  /* the same, while the stack is being realigned */
	UNWIND_AT,        /* CFA = *(reg + offset) */
	UNWIND_AT_BY_BP,  /* CFA = *(reg + offset), in a realigned stack: *(rbp - 8) */
	UNWIND_AT_8,      /* CFA = *(reg + offset) + 8 */
	UNWIND_PLT,       /* CFA = reg + offset + ((pc & 15) >= @bp ? 8 : 0); rbp, rbx unchanged */
	UNWIND_PC_IN,     /* CFA = rsp + offset; the return address is in reg: vfork */
	UNWIND_FRAMES,    /* see UNWIND_FRAME_POINTERS */
	UNWIND_MADE_FRAMES, /* the same in code of a JIT compiler: see unwind_end_of_chain() */
	/*
	 * As UNWIND_IS, where a signal handler has put the frame in between: nobody called, and
	 * execution stood at the "return address".
	 */
	UNWIND_PUSHED,
	/*
	 * As UNWIND_IS, but the outermost frame if rax is 0: behind the system call of a clone(),
	 * the child is on a stack of its own.
	 */
	UNWIND_CLONED,
	/* As UNWIND_IS, for a JIT compiler's function without a frame pointer: see bpf/made.h. */
	UNWIND_MADE_BARE,
};

/* Why a row has no rule. */
enum unwind_unfit {
	UNFIT_MALFORMED, /* the CFI makes no sense */
	UNFIT_CFA,       /* an expression or offset that no kind expresses */
	UNFIT_RETURN_ADDRESS,
	UNFIT_RBP,
	UNFIT_RSP,
	UNFIT_SIGNAL, /* a signal frame of another form than Linux's */
	UNFIT_RULES,  /* more distinct rules than entries can name */
	UNFIT_FAR,    /* too far from the image's first row */
	UNFIT_REASONS,
};

struct unwind_rule {
	__s32 offset;
	__s16 bp; /* 0: the caller's rbp is this frame's, except in the kinds _BY_BP */
	__s8 bx;  /* 0: the caller's rbx is this frame's */
	__u8 how; /* enum unwind_kind | register << 4 */
};
_Static_assert(sizeof(struct unwind_rule) == 8, "abi");

#define UNWIND_HOW(kind, reg) ((__u8)((kind) | (reg) << 4))
#define UNWIND_BP_LOST (-32768) /* the caller's rbp is lost */
#define UNWIND_BX_LOST (-128)

/*
 * The rule for code with frame pointers and without rows (JIT code, some of Go's). It uses what
 * "push %rbp; mov %rsp,%rbp" left. In the outermost frame rbp is 0. If rbp cannot be a frame
 * pointer, the code may use it for something else, and the walk ends with UNWIND_END_CHAIN.
 */
#define UNWIND_LIKELY_STACK_BYTES (64UL << 20)
#define UNWIND_BY_FRAMES(kind) \
	((struct unwind_rule){ .offset = 16, .bp = -2, .how = UNWIND_HOW(kind, UNWIND_RBP) })
#define UNWIND_FRAME_POINTERS UNWIND_BY_FRAMES(UNWIND_FRAMES)

/* The rule at a function's first instruction, whatever its rows say. */
#define UNWIND_AT_ENTRY \
	((struct unwind_rule){ .offset = 8, .how = UNWIND_HOW(UNWIND_IS, UNWIND_RSP) })

/* A page of a table has the entries of 64 KiB of addresses. */
#define UNWIND_PAGE_BITS 16
#define UNWIND_PAGE_STEPS 17 /* to find one of the most entries that a page can have */

struct unwind_entry {
	__u16 low;  /* the low bits of the row's address; valid up to the next entry */
	__u16 rule; /* the rule's number; 0 is UNWIND_NO_ROW */
};
_Static_assert(sizeof(struct unwind_entry) == 4, "abi");

/* Why a walk ends; UNWIND_GOES_ON: it does not. */
enum unwind_end {
	UNWIND_GOES_ON,
	UNWIND_END_ROOT,
	UNWIND_END_NO_MAPPING,   /* no mapping is known at the address */
	UNWIND_END_NO_TABLE_YET, /* the mapping's table is being made */
	UNWIND_END_NO_TABLE,     /* the mapping has no table, and its code no frame pointers */
	UNWIND_END_NO_ROW,
	UNWIND_END_UNFIT,      /* also: the rule needs a register that is not known here */
	UNWIND_END_UNREADABLE, /* a page of the stack is not resident */
	UNWIND_END_NOT_ADVANCING,
	UNWIND_END_CHAIN,  /* rbp is not a frame pointer */
	UNWIND_END_PROBED, /* a return probe's trampoline has replaced the return address */
	UNWIND_END_DEPTH,
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

/* Read entry number @i of a table. False: there is none. */
typedef _Bool unwind_entry_at(void *from, __u32 i, struct unwind_entry *ret);

/*
 * The address to look up. A return address is where the call ends, and behind a call that never
 * returns another function may begin.
 */
static __always_inline __u64 unwind_look_up_at(const struct unwind_regs *regs)
{
	return regs->is_exact ? regs->pc : regs->pc - 1;
}

/*
 * Find the rule for the address @low of a page, whose entries are @first to @last - 1. It is the
 * rule of the last entry that does not begin behind @low. Entry 0 of a table belongs to no page, so
 * there is always one before. False: the table lacks an entry.
 */
static __always_inline _Bool unwind_find(__u32 first, __u32 last, __u16 low,
					 unwind_entry_at *entry_at, void *from, __u16 *ret_rule)
{
	struct unwind_entry entry;

	for (int step = 0; step < UNWIND_PAGE_STEPS && first < last; step++) {
		__u32 middle = first + (last - first) / 2;

		if (!entry_at(from, middle, &entry))
			return 0;
		if (entry.low <= low)
			first = middle + 1;
		else
			last = middle;
	}
	if (!entry_at(from, first - 1, &entry))
		return 0;
	*ret_rule = entry.rule;
	return 1;
}

static __always_inline _Bool unwind_is_known(const struct unwind_regs *regs, __u32 reg)
{
	return regs->known >> reg & 1;
}

/* May the caller's stack pointer be @cfa? False: too often, it was not further up. */
static __always_inline _Bool unwind_is_way_on(struct unwind_regs *regs, __u64 cfa)
{
	if (cfa > regs->of[UNWIND_RSP])
		return 1;
	return cfa != regs->of[UNWIND_RSP] && ++regs->n_turns <= UNWIND_MAX_TURNS;
}

/*
 * From a signal handler's return to the interrupted frame. Its registers lie 40 bytes into the
 * ucontext, in the kernel's order (struct sigcontext).
 */
static __always_inline enum unwind_end unwind_signal(struct unwind_regs *regs, unwind_read *read,
						     void *from)
{
	__u64 at = regs->of[UNWIND_RSP] + 40;
	__u64 sp = 0;
	_Bool is_read = 1;

	is_read &= read(from, at + 120, &sp);
	is_read &= read(from, at + 128, &regs->pc);
	if (!is_read)
		return UNWIND_END_UNREADABLE;
	if (!unwind_is_way_on(regs, sp))
		return UNWIND_END_NOT_ADVANCING;
	for (__u32 i = 0; i < 8; i++)
		is_read &= read(from, at + i * 8ULL, &regs->of[8 + i]);
	is_read &= read(from, at + 64, &regs->of[UNWIND_RDI]);
	is_read &= read(from, at + 72, &regs->of[UNWIND_RSI]);
	is_read &= read(from, at + 80, &regs->of[UNWIND_RBP]);
	is_read &= read(from, at + 88, &regs->of[UNWIND_RBX]);
	is_read &= read(from, at + 96, &regs->of[UNWIND_RDX]);
	is_read &= read(from, at + 104, &regs->of[UNWIND_RAX]);
	is_read &= read(from, at + 112, &regs->of[UNWIND_RCX]);
	regs->of[UNWIND_RSP] = sp;
	regs->known = UNWIND_ALL_KNOWN;
	regs->is_exact = 1;
	return is_read ? UNWIND_GOES_ON : UNWIND_END_UNREADABLE;
}

/* The CFA by @rule. */
static __always_inline enum unwind_end unwind_cfa(const struct unwind_regs *regs,
						  struct unwind_rule rule, unwind_read *read,
						  void *from, __u64 *ret)
{
	__u32 kind = rule.how & 15;
	__u32 reg = kind == UNWIND_PC_IN ? UNWIND_RSP : rule.how >> 4;

	if (!unwind_is_known(regs, reg))
		return UNWIND_END_UNFIT;
	*ret = regs->of[reg] + (__u64)rule.offset;
	if (kind == UNWIND_AT || kind == UNWIND_AT_BY_BP || kind == UNWIND_AT_8) {
		if (!read(from, *ret, ret))
			return UNWIND_END_UNREADABLE;
		*ret += kind == UNWIND_AT_8 ? 8 : 0;
	} else if (kind == UNWIND_PLT) {
		*ret += (regs->pc & 15) >= (__u64)rule.bp ? 8 : 0;
	}
	return UNWIND_GOES_ON;
}

/*
 * Restore the caller's @reg, saved at @base + 8 * @words. If that cannot be read, the register is
 * not known, which may not matter. Behind the "leave" of a realigned frame, gcc's CFI leaves rbp at
 * its old place.
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

/* Restore rbp and rbx of the caller, whose rsp is @cfa. */
static __always_inline enum unwind_end unwind_restore(struct unwind_regs *regs,
						      struct unwind_rule rule, __u64 cfa,
						      unwind_read *read, void *from)
{
	__u32 kind = rule.how & 15;
	_Bool is_by_bp = kind == UNWIND_IS_BY_BP || kind == UNWIND_AT_BY_BP;
	__u64 base = is_by_bp ? regs->of[UNWIND_RBP] : cfa;

	if (is_by_bp && !unwind_is_known(regs, UNWIND_RBP))
		return UNWIND_END_UNFIT;
	regs->known &= 1U << UNWIND_RBP | 1U << UNWIND_RBX;
	regs->known |= 1U << UNWIND_RSP;
	regs->of[UNWIND_RSP] = cfa;
	if (kind == UNWIND_PLT)
		return UNWIND_GOES_ON;
	if (rule.bp == UNWIND_BP_LOST)
		regs->known &= ~(1U << UNWIND_RBP);
	else if (rule.bp || is_by_bp)
		unwind_saved(regs, UNWIND_RBP, base, rule.bp, read, from);
	if (rule.bx == UNWIND_BX_LOST)
		regs->known &= ~(1U << UNWIND_RBX);
	else if (rule.bx)
		unwind_saved(regs, UNWIND_RBX, base, rule.bx, read, from);
	return UNWIND_GOES_ON;
}

/* From a frame to its caller, by a rule that gives its place. */
static __always_inline enum unwind_end
unwind_call(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	__u32 reg = rule.how >> 4;
	_Bool is_pc_in = (rule.how & 15) == UNWIND_PC_IN;
	__u64 cfa, pc = 0;
	enum unwind_end end = unwind_cfa(regs, rule, read, from, &cfa);

	if (end)
		return end;
	if (is_pc_in && !unwind_is_known(regs, reg))
		return UNWIND_END_UNFIT;
	if (is_pc_in)
		pc = regs->of[reg];
	else if (!unwind_is_way_on(regs, cfa))
		return UNWIND_END_NOT_ADVANCING;
	else if (!read(from, cfa - 8, &pc))
		return UNWIND_END_UNREADABLE;
	end = unwind_restore(regs, rule, cfa, read, from);
	if (end)
		return end;
	regs->pc = pc;
	regs->is_exact = (rule.how & 15) == UNWIND_PUSHED;
	return pc ? UNWIND_GOES_ON : UNWIND_END_ROOT;
}

/*
 * By the ABI rbp is 0 in the outermost frame. It is 0 also where an assembler's _start calls, and
 * where Go begins. But something called the code of a JIT compiler. There, rbp is 0 because the
 * code uses it for something else (Java without -XX:+PreserveFramePointer).
 */
static __always_inline enum unwind_end unwind_end_of_chain(struct unwind_rule rule)
{
	return (rule.how & 15) == UNWIND_FRAMES ? UNWIND_END_ROOT : UNWIND_END_CHAIN;
}

/* Do the frame's registers end the walk before the step? */
static __always_inline enum unwind_end unwind_end_before(const struct unwind_regs *regs,
							 struct unwind_rule rule)
{
	const __u64 bp = regs->of[UNWIND_RBP];

	switch (rule.how & 15) {
	case UNWIND_FRAMES:
	case UNWIND_MADE_FRAMES:
		if (unwind_is_known(regs, UNWIND_RBP) && !bp)
			return unwind_end_of_chain(rule);
		return bp % 8 ? UNWIND_END_CHAIN : UNWIND_GOES_ON;
	case UNWIND_CLONED:
		if (!unwind_is_known(regs, UNWIND_RAX))
			return UNWIND_END_UNFIT;
		return regs->of[UNWIND_RAX] ? UNWIND_GOES_ON : UNWIND_END_ROOT;
	default:
		return UNWIND_GOES_ON;
	}
}

/*
 * The meaning of @end, to which a step by a rule for code without rows has come. Something called
 * the code of a JIT compiler, so a stack never ends there. @is_far: rbp was too far from rsp.
 */
static __always_inline enum unwind_end unwind_end_behind(struct unwind_rule rule,
							 enum unwind_end end, _Bool is_far)
{
	const __u32 kind = rule.how & 15;
	const _Bool is_by_frames = kind == UNWIND_FRAMES || kind == UNWIND_MADE_FRAMES;

	if (end == UNWIND_END_ROOT && (is_by_frames || kind == UNWIND_MADE_BARE))
		return unwind_end_of_chain(rule);
	return end == UNWIND_END_UNREADABLE && is_by_frames && is_far ? UNWIND_END_CHAIN : end;
}

/* Only one place calls unwind_call(): each further one takes the verifier hundreds of steps. */
static __always_inline enum unwind_end
unwind_to_caller(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	const _Bool is_far =
		regs->of[UNWIND_RBP] - regs->of[UNWIND_RSP] >= UNWIND_LIKELY_STACK_BYTES;
	const enum unwind_end end = unwind_end_before(regs, rule);

	return end ? end : unwind_end_behind(rule, unwind_call(regs, rule, read, from), is_far);
}

/*
 * One step. @regs become the caller's, or are undefined if the walk ends. It calls @read with
 * @from, at most 17 times.
 */
static __always_inline enum unwind_end
unwind_step(struct unwind_regs *regs, struct unwind_rule rule, unwind_read *read, void *from)
{
	switch (rule.how & 15) {
	case UNWIND_NO_ROW:
		return UNWIND_END_NO_ROW;
	case UNWIND_OUTERMOST:
		return UNWIND_END_ROOT;
	case UNWIND_SIGNAL:
		return unwind_signal(regs, read, from);
	case UNWIND_FRAMES:
	case UNWIND_MADE_FRAMES:
	case UNWIND_MADE_BARE:
	case UNWIND_CLONED:
	case UNWIND_IS:
	case UNWIND_IS_BY_BP:
	case UNWIND_AT:
	case UNWIND_AT_BY_BP:
	case UNWIND_AT_8:
	case UNWIND_PLT:
	case UNWIND_PC_IN:
	case UNWIND_PUSHED:
		return unwind_to_caller(regs, rule, read, from);
	default:
		return UNWIND_END_UNFIT;
	}
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
 * The same step for nearly all frames: the CFA is a register plus a number, and the saved registers
 * are in @w. False: the frame is not of this kind, and @regs are unchanged.
 */
static __always_inline _Bool unwind_quickly(struct unwind_regs *regs, struct unwind_rule rule,
					    const struct unwind_window *w)
{
	const __u32 reg = rule.how >> 4;
	const __u64 cfa = regs->of[reg] + (__u64)rule.offset;
	__u64 bp = regs->of[UNWIND_RBP], bx = regs->of[UNWIND_RBX], pc;
	__u32 known = regs->known;

	if ((rule.how & 15) != UNWIND_IS || cfa <= regs->of[UNWIND_RSP] || (cfa - w->base) % 8 ||
	    !unwind_is_known(regs, reg) || !unwind_in_window(w, cfa - 8, &pc) || !pc)
		return 0;
	if (rule.bp) {
		if (!unwind_in_window(w, cfa + 8 * (__u64)rule.bp, &bp))
			return 0;
		known |= 1U << UNWIND_RBP;
	}
	if (rule.bx) {
		if (!unwind_in_window(w, cfa + 8 * (__u64)rule.bx, &bx))
			return 0;
		known |= 1U << UNWIND_RBX;
	}
	regs->of[UNWIND_RSP] = cfa;
	regs->of[UNWIND_RBP] = bp;
	regs->of[UNWIND_RBX] = bx;
	regs->known = (known & (1U << UNWIND_RBP | 1U << UNWIND_RBX)) | 1U << UNWIND_RSP;
	regs->pc = pc;
	regs->is_exact = 0;
	return 1;
}
