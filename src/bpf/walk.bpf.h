/*
 * bpf/walk.bpf.h - a hit's stacks: the kernel's by its helper, the user's by frame pointers.
 *
 * Functions in pairs: a body that is inlined, for kernels before Linux 5.17; and a global
 * function around it, which the verifier looks at by itself, once, wherever it is
 * called from. Together with bpf_loop() that is what makes loading quick.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* What is the probe's context, and where does execution stand? Known at each entry point. */
enum hit_kind {
	HIT_TRACEPOINT,
	HIT_KERNEL_FUNCTION, /* ctx: the kernel's registers at the function's entry */
	HIT_USER_FUNCTION,   /* ctx: the user's registers at the function's entry */
	HIT_USER_PLACE,      /* ctx: the user's registers */
};

static __always_inline bool is_user_hit(enum hit_kind kind)
{
	return kind == HIT_USER_FUNCTION || kind == HIT_USER_PLACE;
}

static __always_inline __u32 n_words(const struct walked *w)
{
	__u32 n = *(const volatile __u32 *)&w->n;

	return n < STACK_WORDS ? n : STACK_WORDS;
}

/* Zeros behind the @n words, at least to the end of their last piece: nothing stale is stored. */
static __always_inline void clear_tail(__u64 *words, __u32 n)
{
#pragma unroll
	for (int i = 0; i < CHUNK_WORDS; i++)
		*(volatile __u64 *)&words[n + i] = 0; /* volatile: or it becomes a call of memset */
}

/* The walk gave @n addresses from @start on; add the mark, if there is one. */
static __always_inline void finish_walk(struct scratch_slot *slot, enum side side, __u32 start,
					__u32 n, __u32 mark)
{
	if (n > STACK_MAX_FRAMES)
		n = STACK_MAX_FRAMES;
	if (mark)
		slot->words[side][(start & 1) + n++] = mark;
	slot->walked[side].start = start;
	slot->walked[side].n = n;
}

/*
 * The kernel's own walk. Whether the traced function itself is in it, depends on
 * the kernel and the backend: for kprobe.multi on x86 it is not from Linux commit
 * 6d08340d1e35 (late 2025) until aea251799998 (v7.0). It is put in front
 * where it is missing.
 */
static __always_inline void walk_kernel(void *ctx, enum hit_kind kind, struct scratch_slot *slot)
{
	__u64 *words = slot->words[SIDE_KERNEL];
	const __u32 bytes = config.max_kernel_frames * sizeof(__u64);
	long got = bpf_get_stack(ctx, &words[1], bytes, 0);
	__u32 mark = STACK_MARK_NONE;
	__u32 start = 1;
	__u32 n;

	/*
	 * At a system call's tracepoint some kernels (6.1 and 5.10 among them) have only the
	 * user's registers to begin with, and give nothing. From here, the walk has the
	 * tracing's own frames on top; they are trimmed by name.
	 */
	if (got <= 0 && kind == HIT_TRACEPOINT && config.has_task_regs)
		got = bpf_get_task_stack(bpf_get_current_task_btf(), &words[1], bytes, 0);
	n = got > 0 ? (__u32)got / sizeof(__u64) : 0;
	if (got <= 0)
		mark = STACK_MARK_FAILED;
	else if (config.kernel_limit && n >= config.kernel_limit)
		mark = STACK_MARK_DEPTH;
	if (kind == HIT_KERNEL_FUNCTION) {
		__u64 ip = ((struct pt_regs *)ctx)->ip;

		if (!n || words[1] - ip + 16 > 32) {
			words[0] = ip;
			start = 0;
			n++;
		}
	}
	finish_walk(slot, SIDE_KERNEL, start, n, mark);
	if (mark) /* else the helper has zeroed what it did not fill */
		clear_tail(&words[start], n_words(&slot->walked[SIDE_KERNEL]));
}

/*
 * By frame pointers. Starts at the registers; at a function's entry, where the frame
 * pointer is still the caller's, the direct caller is at the stack pointer.
 *
 * The chain ends in peace at a frame pointer that cannot be one (0 in _start; anything
 * below the stack pointer in code that uses rbp for other things). It is
 * cut when a likely one cannot be read: page faults are off. Alternate signal stacks
 * may lead back down, but not again and again.
 */
#define LIKELY_STACK_BYTES (64UL << 20)
#define MAX_TURNS 2
#define INLINE_STEPS 4

/* What stands at user address @at: two words. False: it cannot be read. */
static __always_inline bool read_frame(struct window *w, __u64 at, struct user_frame *ret)
{
	__u64 i;

	if (at - w->base >= w->n_valid) {
		w->base = at;
		w->n_valid = WINDOW_BYTES - sizeof(__u64);
		if (bpf_probe_read_user(w->words, WINDOW_BYTES, (void *)at)) {
			w->n_valid = sizeof(__u64); /* the stack's end may be near */
			if (bpf_probe_read_user(w->words, sizeof(*ret), (void *)at)) {
				w->n_valid = 0;
				return false;
			}
		}
	}
	i = (at - w->base) / sizeof(__u64) & (WINDOW_WORDS - 1);
	ret->next = w->words[i];
	ret->return_address = *(volatile __u64 *)&w->words[i + 1];
	return true;
}

/* One way along the chain. */
struct user_walk {
	struct scratch_slot *slot;
	__u64 sp;
	__u64 bp;
	__u32 first; /* index of the first frame that the chain gives */
};

/* Step @step of the chain; 1: it ends here. */
static __always_inline long step_user(__u32 step, struct user_walk *walk)
{
	volatile struct walked *w = &walk->slot->walked[SIDE_USER];
	const __u32 i = walk->first + step;
	struct user_frame frame;

	if (!walk->bp || walk->bp % sizeof(__u64) || i >= STACK_WORDS)
		return 1;
	if (!read_frame(&walk->slot->window, walk->bp, &frame)) {
		if (walk->bp - walk->sp < LIKELY_STACK_BYTES)
			w->mark = STACK_MARK_UNREADABLE;
		return 1;
	}
	if (!frame.return_address)
		return 1;
	if (i >= config.max_user_frames) {
		if (i >= STACK_MAX_FRAMES)
			w->mark = STACK_MARK_DEPTH;
		return 1;
	}
	walk->slot->words[SIDE_USER][i] = frame.return_address;
	w->n = i + 1;
	if (frame.next == walk->bp)
		return 1;
	if (frame.next < walk->bp && ++w->n_turns > MAX_TURNS)
		return 1;
	walk->bp = frame.next;
	return 0;
}

static long step_user_callback(__u64 step, void *walk)
{
	return step_user(step, walk);
}

static __always_inline void walk_user_frames(struct scratch_slot *slot, __u64 ip, __u64 sp,
					     __u64 bp, bool at_entry, bool is_new_kernel)
{
	struct user_walk walk = { .slot = slot, .sp = sp, .bp = bp, .first = 1 };
	volatile struct walked *w = &slot->walked[SIDE_USER];
	__u64 *words = slot->words[SIDE_USER];
	struct user_frame top;

	w->n = 1;
	w->mark = STACK_MARK_NONE;
	w->n_turns = 0;
	words[0] = ip;
	if (bp < sp)
		walk.bp = 0;
	slot->window.n_valid = 0;
	if (at_entry && config.max_user_frames > 1) {
		walk.first = 2;
		if (read_frame(&slot->window, sp, &top)) {
			words[1] = top.next; /* the call has just put it there */
			w->n = 2;
		} else {
			w->mark = STACK_MARK_UNREADABLE;
			walk.bp = 0;
		}
	}
	/* bpf_loop() is a call a step: the first ones, all that most stacks take, go without. */
	for (__u32 i = 0; i < (is_new_kernel ? INLINE_STEPS : STACK_WORDS); i++)
		if (step_user(i, &walk))
			goto walked;
	if (is_new_kernel) {
		walk.first += INLINE_STEPS;
		bpf_loop(STACK_WORDS, step_user_callback, &walk, 0);
	}
walked:
	finish_walk(slot, SIDE_USER, 0, n_words(&slot->walked[SIDE_USER]), w->mark);
	clear_tail(words, n_words(&slot->walked[SIDE_USER]));
}

/* A global function: the verifier looks at it by itself, once. */
__noinline int walk_user_chain(struct scratch_slot *slot, __u64 ip, __u64 sp, __u64 bp,
			       __u32 at_entry)
{
	if (slot)
		walk_user_frames(slot, ip, sp, bp, at_entry, true);
	return 0;
}

/* By the kernel's helper: 32-bit programs, and kernels that do not give us the registers. */
static __always_inline void walk_user_by_helper(void *ctx, struct scratch_slot *slot)
{
	__u64 *words = slot->words[SIDE_USER];
	long got =
		bpf_get_stack(ctx, words, config.max_user_frames * sizeof(__u64), BPF_F_USER_STACK);
	__u32 n = got > 0 ? (__u32)got / sizeof(__u64) : 0;

	finish_walk(slot, SIDE_USER, 0, n, n >= STACK_MAX_FRAMES ? STACK_MARK_DEPTH : 0);
	clear_tail(words, n_words(&slot->walked[SIDE_USER]));
}

/* No words where there is no user stack (kernel threads). Returns KEY_* flags. */
static __always_inline __u32 walk_user(void *ctx, enum hit_kind kind, bool is_new_kernel,
				       struct scratch_slot *slot)
{
	const struct pt_regs *regs = ctx;

	slot->walked[SIDE_USER].n = 0;
	if (!is_user_hit(kind)) {
		if (!config.has_task_regs) {
			walk_user_by_helper(ctx, slot);
			return 0;
		}
		regs = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (!(regs->cs & CS_RING_MASK))
			return 0;
	}
	if (regs->cs != CS_USER_64)
		walk_user_by_helper(ctx, slot);
	else if (is_new_kernel)
		walk_user_chain(slot, regs->ip, regs->sp, regs->bp, kind == HIT_USER_FUNCTION);
	else
		walk_user_frames(slot, regs->ip, regs->sp, regs->bp, kind == HIT_USER_FUNCTION,
				 false);
	/* In a system call orig_ax is its number, and ip is behind the instruction. */
	return is_user_hit(kind) || (long)regs->orig_ax == -1 ? KEY_USER_PC_EXACT : 0;
}
