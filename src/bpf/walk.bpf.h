/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/walk.bpf.h - walk the stacks of a hit: the kernel's by the kernel's helper, the user's by
 * frame pointers.
 *
 * The verifier checks a global function once for all callers, and the body of a bpf_loop() once for
 * all turns. This makes loading quick.
 */
#pragma once

#include "bpf/maps.bpf.h"

/*
 * The kind of an event. It gives the type of the probe's context, and the place where execution
 * stands. Each entry point knows its own.
 */
enum hit_kind {
	HIT_TRACEPOINT,
	HIT_KERNEL_FUNCTION, /* ctx: the kernel's registers at the function's entry */
	HIT_USER_FUNCTION,   /* ctx: the user's registers at the function's entry */
	HIT_USER_PLACE,      /* ctx: the user's registers */
	/*
	 * A perf event. ctx: the registers at the event, of the user or of the kernel; readable by
	 * constant offsets alone. It may be in an interrupt or an NMI, on top of any code.
	 */
	HIT_SAMPLE,
	HIT_KERNEL_RETURN,  /* ctx: the kernel's registers after a function's return */
	HIT_RAW_TRACEPOINT, /* ctx: the tracepoint's arguments, and no registers */
};

static __always_inline bool is_user_hit(enum hit_kind kind)
{
	return kind == HIT_USER_FUNCTION || kind == HIT_USER_PLACE;
}

/* Does the kernel have a stack at the hit? */
static __always_inline bool has_kernel_stack(void *ctx, enum hit_kind kind)
{
	if (kind == HIT_SAMPLE)
		return !sample_is_of_user(ctx);
	return !is_user_hit(kind);
}

/* Does execution stand at the first address of the kernel's stack? */
static __always_inline bool is_kernel_pc_exact(void *ctx, enum hit_kind kind)
{
	return kind == HIT_KERNEL_FUNCTION || (kind == HIT_SAMPLE && sample_is_exact(ctx));
}

/* The words of a stack. There is room for n_words() words behind its first one. */
static __always_inline __u64 *words_of_side(struct scratch_slot *slot, __u32 side)
{
	return &slot->words[(side & 1) * KERNEL_ROOM];
}

/*
 * The number of a stack's words. The bound is in assembler, as in stack_piece_of(). The likely case
 * comes first.
 */
static __always_inline __u64 n_words(const struct walked *w)
{
	__u64 n = *(const volatile __u32 *)&w->n;

	__asm__ volatile("if %[n] > %[most] goto +1\n\t"
			 "goto +1\n\t"
			 "%[n] = %[most]"
			 : [n] "+r"(n)
			 : [most] "i"(STACK_WORDS));
	return n;
}

/*
 * Write zeros behind the @n words: HASH_GROUP of them for hashing, CHUNK_WORDS for storing a piece.
 */
#define HASH_GROUP 4

static __always_inline void clear_tail(__u64 *words, __u64 n, int n_zeros)
{
	words += n;
	barrier_var(words); /* or the compiler computes each address separately */
#pragma clang loop unroll(full)
	for (int i = 0; i < n_zeros; i++)
		*(volatile __u64 *)&words[i] = 0; /* volatile: or it becomes a call of memset() */
}

/* Note the walk's result: @n addresses from word @start on, then the mark, if there is one. */
static __always_inline void finish_walk(struct scratch_slot *slot, enum side side, __u32 start,
					__u32 n, __u32 mark)
{
	const __u32 most = side == SIDE_USER ? STACK_MAX_FRAMES : SHORT_MAX_FRAMES;

	if (n > most)
		n = most;
	if (mark)
		words_of_side(slot, side)[(start & 1) + n++] = mark;
	slot->walked[side].start = start;
	slot->walked[side].n = n;
}

/*
 * Walk the kernel's stack by the kernel's helper. Whether the traced function is in it depends on
 * the kernel and the backend. With kprobe.multi on x86 it is missing from Linux commit 6d08340d1e35
 * (late 2025) until aea251799998 (v7.0). If it is missing, we put it in front. Returns the mark.
 */
static __always_inline __u32 walk_kernel_by_helper(void *ctx, enum hit_kind kind,
						   struct scratch_slot *slot)
{
	__u64 *words = words_of_side(slot, SIDE_KERNEL);
	const __u32 bytes = config.max_kernel_frames * sizeof(__u64);
	const bool may_double = kind == HIT_TRACEPOINT && KERNEL_DOUBLES_FIRST;
	__u32 start = !may_double;
	long got = bpf_get_stack(ctx, &words[start], bytes, 0);
	__u32 mark = STACK_MARK_NONE;
	__u32 n;

	/*
	 * At tracepoints of system calls, some kernels (6.1 among them) start with the user's
	 * registers and give nothing. A walk from here has the tracing's own frames on top;
	 * user space trims them by name.
	 */
	if (got <= 0 && kind == HIT_TRACEPOINT)
		got = bpf_get_task_stack(bpf_get_current_task_btf(), &words[start], bytes, 0);
	n = got > 0 ? (__u32)got / sizeof(__u64) & SHORT_MAX_FRAMES : 0;
	if (got <= 0)
		mark = STACK_MARK_FAILED;
	else if (config.kernel_limit && n >= config.kernel_limit)
		mark = STACK_MARK_DEPTH;
	if (may_double && n > 1 && words[0] == words[1]) {
		start = 1;
		n--;
	}
	if (kind == HIT_KERNEL_RETURN) { /* the walk begins with the caller */
		words[0] = bpf_get_func_ip(ctx);
		start = 0;
		n++;
	}
	if (kind == HIT_KERNEL_FUNCTION) {
		__u64 pc = regs_pc(ctx);

		if (!n || words[1] - pc + 16 > 32) {
			words[0] = pc;
			start = 0;
			n++;
		} else if (RETURN_IS_IN_REGISTER) { /* the helper starts at the frame pointer */
			words[0] = words[1];
			words[1] = regs_return_address(ctx);
			start = 0;
			n++;
		}
	}
	finish_walk(slot, SIDE_KERNEL, start, n, mark);
	if (mark) /* without a mark, the helper has zeroed the rest */
		clear_tail(&words[start], n_words(&slot->walked[SIDE_KERNEL]), HASH_GROUP);
	return mark;
}

/*
 * Walking by frame pointers starts at the registers. At a function's entry, the frame pointer is
 * still the caller's, and the direct caller is where the call has put it.
 *
 * The chain ends well at a value that cannot be a frame pointer. That is 0 in _start, or anything
 * below the stack pointer in code that uses the register for other things. If a likely one cannot
 * be read, the stack is cut: page faults are off. Alternate signal stacks may lead back down, but
 * not again and again.
 */
#define LIKELY_STACK_BYTES (64UL << 20)
#define MAX_TURNS 2
#define FIRST_STEPS 8 /* inlined; most stacks have no more frames */
#define MORE_STEPS 4  /* frames in a turn of bpf_loop() */

/* Read the window at user address @at, or as much of it as is there. False: nothing is. */
static __always_inline bool read_window(struct unwind_window *w, __u64 at)
{
	w->base = at;
	w->n_valid = WINDOW_BYTES - sizeof(__u64);
	if (bpf_probe_read_user(w->words, WINDOW_BYTES, (void *)at) == 0)
		return true;
	w->n_valid = sizeof(__u64); /* the stack may end before the window does */
	if (bpf_probe_read_user(w->words, sizeof(struct user_frame), (void *)at) == 0)
		return true;
	w->n_valid = 0;
	return false;
}

/*
 * Does the chain go on from @fp to @next? Frame pointers lead up the stack. Alternate signal stacks
 * may lead back down, a few times.
 */
static __always_inline bool is_way_on(struct scratch_slot *slot, __u64 fp, __u64 next)
{
	if (next > fp)
		return true;
	return next && next != fp && ++slot->walked[SIDE_USER].n_turns <= MAX_TURNS;
}

/*
 * Go up to @n_steps frames along the chain, within one window. Returns 1 at the chain's end. The
 * slot keeps the state between calls: see struct walked.
 */
static __always_inline long follow_frames(struct scratch_slot *slot, __u32 n_steps)
{
	__u64 *words = words_of_side(slot, SIDE_USER);
	struct walked *walked = &slot->walked[SIDE_USER];
	struct unwind_window *w = &slot->window;
	__u64 fp = slot->chain.fp;
	__u32 n = walked->n;

	if (!fp || fp % sizeof(__u64))
		return 1;
	if (fp - w->base >= w->n_valid && !read_window(w, fp)) {
		if (fp - slot->chain.sp < LIKELY_STACK_BYTES)
			walked->mark = STACK_MARK_UNREADABLE;
		return 1;
	}
	for (__u32 i = 0; i < n_steps; i++) {
		__u64 offset = fp - w->base;
		const struct user_frame *frame;

		if (offset >= w->n_valid || offset > WINDOW_BYTES - sizeof(*frame) ||
		    fp % sizeof(__u64))
			break;
		frame = (void *)w->words + offset;
		if (frame->return_address < LEAST_CODE)
			return 1;
		barrier_var(
			n); /* or the compiler steps a pointer, of which the verifier knows less */
		if (n >= config.max_user_frames || n >= STACK_MAX_FRAMES) {
			walked->mark = STACK_MARK_DEPTH;
			return 1;
		}
		words[n++] = user_address_of(frame->return_address);
		walked->n = n;
		if (!is_way_on(slot, fp, frame->next))
			return 1;
		fp = frame->next;
	}
	slot->chain.fp = fp;
	return 0;
}

static long follow_frames_callback(__u64 step, struct scratch_slot **slot)
{
	(void)step;
	return follow_frames(*slot, MORE_STEPS);
}

/* The first word of a stack. After a jump through a bad pointer, execution may stand anywhere. */
static __always_inline __u64 first_word_of(__u64 pc)
{
	return pc < LEAST_CODE ? pc | STACK_WORD_PLAIN : pc;
}

/*
 * If a register has the return address at a function's entry, the caller has put it into the slot.
 * A global function.
 */
__noinline int walk_user_chain(struct scratch_slot *slot, __u64 pc, __u64 sp, __u64 fp,
			       __u32 at_entry)
{
	struct walked *walked;
	__u64 *words;

	if (!slot)
		return 0;
	walked = &slot->walked[SIDE_USER];
	words = words_of_side(slot, SIDE_USER);
	*walked = (struct walked){ .n = 1 };
	words[0] = first_word_of(pc);
	slot->chain.sp = sp;
	slot->chain.fp = fp < sp ? 0 : fp;
	slot->window.n_valid = 0;
	if (at_entry) {
		if (config.max_user_frames == 1) {
			walked->mark = STACK_MARK_DEPTH;
			slot->chain.fp = 0;
		} else if (RETURN_IS_IN_REGISTER || read_window(&slot->window, sp)) {
			words[1] = RETURN_IS_IN_REGISTER
					   ? user_address_of(slot->regs.of[UNWIND_REG_THIRD])
					   : slot->window.words[0];
			walked->n = words[1] < LEAST_CODE ? 1 : 2;
		} else {
			walked->mark = STACK_MARK_UNREADABLE;
			slot->chain.fp = 0;
		}
	}
	if (!follow_frames(slot, FIRST_STEPS))
		bpf_loop(STACK_WORDS, follow_frames_callback, &slot, 0);
	finish_walk(slot, SIDE_USER, 0, n_words(walked), walked->mark);
	clear_tail(words, n_words(walked), HASH_GROUP);
	return 0;
}

/*
 * Walk the stack of a 32-bit program by the kernel's helper. The helper clears words that it does
 * not fill, so we pass no more than it can fill.
 */
static __always_inline void walk_user_by_helper(void *ctx, struct scratch_slot *slot)
{
	__u64 *words = words_of_side(slot, SIDE_USER);
	const __u32 most = config.max_user_frames;
	const __u32 asked = most < SHORT_MAX_FRAMES ? most + 1 : SHORT_MAX_FRAMES;
	long got = bpf_get_stack(ctx, words, asked * sizeof(__u64), BPF_F_USER_STACK);
	__u32 n = got > 0 ? (__u32)got / sizeof(__u64) & SHORT_MAX_FRAMES : 0;
	__u32 mark = n ? STACK_MARK_32_BIT : STACK_MARK_NONE;

	if (n > 1 && n <= SHORT_MAX_FRAMES && words[n - 1] < LEAST_CODE)
		n--; /* argc, which lies behind _start */
	if (n)
		words[0] = first_word_of(words[0]);
	if (n > most || n >= SHORT_MAX_FRAMES)
		mark |= STACK_MARK_DEPTH;
	finish_walk(slot, SIDE_USER, 0, n > most ? most : n, mark);
	clear_tail(words, n_words(&slot->walked[SIDE_USER]), HASH_GROUP);
}
