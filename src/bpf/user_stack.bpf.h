/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/user_stack.bpf.h - walk a user stack: by frame pointers, or by tables (bpf/tables.h), frame
 * by frame, with the step of bpf/user_step.h.
 *
 * Data that changes in a loop lies in the slot: see struct walked. Functions with loops or several
 * callers are global, so the verifier checks each of them once.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/rule.bpf.h"

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

/* The first word of a stack. After a jump through a bad pointer, execution may stand anywhere. */
static __always_inline __u64 first_word_of(__u64 pc)
{
	return pc < LEAST_CODE ? pc | STACK_WORD_PLAIN : pc;
}

/* --- by frame pointers --- */

/*
 * Walking by frame pointers starts at the registers. At a function's entry, the frame pointer is
 * still the caller's, and the direct caller is where the call has put it.
 *
 * The chain ends well at a value that cannot be a frame pointer. That is 0 in _start, or anything
 * below the stack pointer in code that uses the register for other things. If a likely one cannot
 * be read, the stack is cut: page faults are off.
 */
#define MAX_TURNS 2
#define FIRST_STEPS 8 /* inlined; most stacks have no more frames */
#define MORE_STEPS 4  /* frames in a turn of bpf_loop() */

/* Does the chain go on to @next? Alternate signal stacks may lead back down, a few times. */
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
	__u64 fp = slot->chain_fp;
	__u32 n = walked->n;

	if (!fp || fp % sizeof(__u64))
		return 1;
	if (fp - w->base >= w->n_valid && !read_window(w, fp)) {
		if (fp - slot->chain_sp < UNWIND_LIKELY_STACK_BYTES)
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
	slot->chain_fp = fp;
	return 0;
}

static long follow_frames_callback(__u64 step, struct scratch_slot **slot)
{
	(void)step;
	return follow_frames(*slot, MORE_STEPS);
}

/* A return address that is in a register at a function's entry is in slot->regs. */
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
	slot->chain_sp = sp;
	slot->chain_fp = fp < sp ? 0 : fp;
	slot->window.n_valid = 0;
	if (at_entry) {
		if (config.max_user_frames == 1) {
			walked->mark = STACK_MARK_DEPTH;
			slot->chain_fp = 0;
		} else if (RETURN_IS_IN_REGISTER || read_window(&slot->window, sp)) {
			words[1] = RETURN_IS_IN_REGISTER
					   ? user_address_of(slot->regs.of[UNWIND_REG_THIRD])
					   : slot->window.words[0];
			walked->n = words[1] < LEAST_CODE ? 1 : 2;
		} else {
			walked->mark = STACK_MARK_UNREADABLE;
			slot->chain_fp = 0;
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

/* --- by tables --- */

/*
 * Read the word at @at of the stack into slot->word, from the window if it is there. A new window
 * begins at the stack pointer: the frame's saved registers and its callers' frames lie above that.
 */
__noinline int read_word(struct scratch_slot *slot, __u64 at)
{
	struct unwind_window *w;
	__u64 sp;

	if (!slot)
		return 0;
	w = &slot->window;
	if (at - w->base >= w->n_valid) {
		sp = slot->regs.of[UNWIND_REG_SP];
		if (at - sp >= WINDOW_BYTES - sizeof(__u64) || !read_window(w, sp) ||
		    at - w->base >= w->n_valid)
			return bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)at) ==
			       0;
	}
	sp = at - w->base;
	if (sp > WINDOW_BYTES - sizeof(__u64))
		return 0;
	slot->word = *(__u64 *)((void *)w->words + sp);
	return 1;
}

static __always_inline _Bool read_user_word(void *from, __u64 at, __u64 *ret)
{
	struct scratch_slot *slot = from;
	_Bool is_read = read_word(slot, at); /* no branch: it would make 2 ^ 17 paths */

	*ret = slot->word;
	return is_read;
}

static __always_inline int find_known_rule(void *from, __u64 addr, struct unwind_rule *ret)
{
	(void)ret; /* the slot's */
	return known_rule(from, addr);
}

static __always_inline _Bool read_user_code(void *from, __u64 at, __u64 *ret)
{
	struct scratch_slot *slot = from;

	if (bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)at))
		return 0;
	*ret = slot->word;
	return 1;
}

static __always_inline struct frame_reads reads_of(struct scratch_slot *slot)
{
	return (struct frame_reads){ find_known_rule, read_user_word, read_user_code, slot };
}

/* Make a step by the slot's rule, of any kind. */
__noinline int unwind_by_rule(struct scratch_slot *slot)
{
	return slot ? unwind_step(&slot->regs, slot->rule, read_user_word, slot) : UNWIND_END_UNFIT;
}

/* Add the caller to the stack, unless the walk is over (@end). Returns 1 at the end. */
static __always_inline int put_caller(struct scratch_slot *slot, int end)
{
	struct walked *walked = &slot->walked[SIDE_USER];
	const __u32 n = *(volatile __u32 *)&walked->n;

	if (!end)
		end = frame_end_before(&slot->regs, slot->rule, n, config.max_user_frames);
	if (end) {
		walked->mark |= end == UNWIND_END_ROOT ? STACK_MARK_NONE : STACK_MARK_WALK + end;
		return 1;
	}
	words_of_side(slot, SIDE_USER)[n & (STACK_MAX_FRAMES - 1)] =
		slot->regs.pc | (slot->regs.is_exact ? STACK_WORD_EXACT : 0);
	walked->n = n + 1;
	return 0;
}

static __always_inline bool is_deferral_paused(__u32 tgid)
{
	return *(volatile __u64 *)&deferred_ring.pause_until[deferred_pause_of(tgid)] >
	       bpf_ktime_get_ns();
}

/*
 * May a hit of process @tgid wait? The hash of the stack has its mark, so this looks for room
 * before the hit takes it. In a pause, code without a mapping is most likely a JIT compiler's.
 */
static __always_inline bool has_room_to_defer(__u32 tgid, int end)
{
	if (deferred_ring.head - deferred_ring.tail + DEFERRED_MOST_PIECES <= DEFERRED_PIECES &&
	    (end == UNWIND_END_NO_MAPPING || !is_deferral_paused(tgid)))
		return true;
	add_atomically(&deferred_ring.n_full, 1);
	return false;
}

/* There is no rule for the pc, because of @end. Returns why the walk ends. */
static __always_inline int end_without_rule(struct scratch_slot *slot, int end)
{
	struct walked *walked = &slot->walked[SIDE_USER];
	const bool is_early = end == UNWIND_END_NO_MAPPING || end == UNWIND_END_NO_TABLE_YET;
	const bool has_room = !is_early || has_room_to_defer(current_tgid(), end);

	if (is_early && has_room)
		slot->deferred = walked->n;
	end = frame_end_without_rule(end, slot->rule, &walked->n);
	return has_room || end == UNWIND_END_CHAIN ? end : UNWIND_END_RING_FULL;
}

#define NO_ROW_THERE 2

/* Step to the caller by tables. Returns 1 at the end, or NO_ROW_THERE if no row covers the pc. */
__noinline int unwind_frame(struct scratch_slot *slot)
{
	struct walked *walked;
	bool is_at_entry;
	int end;

	if (!slot)
		return 1;
	walked = &slot->walked[SIDE_USER];
	is_at_entry = slot->is_at_entry;
	slot->is_at_entry = 0;
	end = frame_rule(&slot->regs, is_at_entry, reads_of(slot), &slot->rule);
	if (end)
		end = end_without_rule(slot, end);
	if (!end && unwind_quickly(&slot->regs, slot->rule, &slot->window))
		return put_caller(slot, 0); /* most frames: no further test */
	if (!end) {
		if (unwind_kind_of(slot->rule) == UNWIND_MADE_BARE)
			walked->mark |= STACK_MARK_UNVERIFIED;
		end = unwind_by_rule(slot);
	}
	return end == UNWIND_END_NO_ROW ? NO_ROW_THERE : put_caller(slot, end);
}

/* Step to the caller by a checked step. Not called by unwind_frame(): calls may be 8 deep. */
__noinline int unwind_checked(struct scratch_slot *slot)
{
	struct walked *walked;
	int end;

	if (!slot)
		return 1;
	walked = &slot->walked[SIDE_USER];
	end = frame_checked_rule(&slot->regs, reads_of(slot), &slot->rule,
				 (walked->mark & STACK_MARK_UNVERIFIED) != 0);
	if (!end) {
		walked->mark |= STACK_MARK_UNVERIFIED;
		end = unwind_by_rule(slot);
	}
	return put_caller(slot, end);
}

#define FRAMES_IN_TURN 4 /* of a turn of bpf_loop() */

static long unwind_callback(__u64 turn, struct scratch_slot **slot)
{
	(void)turn;
	for (int i = 0; i < FRAMES_IN_TURN; i++) {
		int end = unwind_frame(*slot);

		if (end == NO_ROW_THERE)
			end = unwind_checked(*slot);
		if (end)
			return 1;
	}
	return 0;
}

/* Send NOTICE_UNMAPPED, unless one is on its way, at which user space looks at all changes. */
__noinline int notify_unmapped(__u32 tgid, __u32 is_walked)
{
	struct notice notice = { .type = NOTICE_UNMAPPED, .tgid = tgid, .is_walked = is_walked };
	volatile __u64 *is_told = &trace_state.is_unmapped[is_walked & 1];

	if (*is_told)
		return 0;
	*is_told = 1;
	if (bpf_ringbuf_output(&wake, &notice, sizeof(notice), BPF_RB_FORCE_WAKEUP))
		*is_told = 0;
	return 0;
}

#define LOOK_AFTER 64

/*
 * Yes if the walk lacked a mapping. If the kernel's own served, only after LOOK_AFTER frames: then
 * the process lives long enough for its list to be read.
 */
static __always_inline bool is_notice_due(struct scratch_slot *slot, bool is_walked)
{
	if (!is_walked)
		return true;
	if (slot->file.n_asked < LOOK_AFTER)
		return false;
	slot->file.n_asked = 0;
	return true;
}

/*
 * Put the space of process @tgid into the slot. The process that this slot saw last needs no
 * look-up, unless a space has changed since. False: there is none, and slot->space is empty.
 */
static __always_inline bool find_space(struct scratch_slot *slot, __u32 tgid)
{
	const __u32 turn = *(volatile __u32 *)&trace_state.space_turn;
	const struct unwind_space *space;

	if (!tgid || slot->space_of != tgid || slot->space_turn != turn) {
		barrier(); /* a space of before this turn is in no later one */
		space = bpf_map_lookup_elem(&spaces, &tgid);
		slot->space = space ? *space : (struct unwind_space){};
		if (!slot->space.number) /* it is not checked yet */
			slot->space = (struct unwind_space){};
		slot->space_of = slot->space.number ? tgid : 0;
		slot->space_turn = turn;
	}
	return slot->space_of;
}

/* A global function. The caller has put the registers into the slot. */
__noinline int unwind_user(struct scratch_slot *slot, __u32 tgid)
{
	struct walked *walked;
	bool is_walked;
	__u32 cut;

	if (!slot)
		return 0;
	walked = &slot->walked[SIDE_USER];
	*walked = (struct walked){ .n = 1 };
	words_of_side(slot, SIDE_USER)[0] = first_word_of(slot->regs.pc);
	read_window(&slot->window, slot->regs.of[UNWIND_REG_SP]);
	slot->rule = (struct unwind_rule){};
	slot->file.is_asked = !find_space(slot, tgid);
	slot->space_key = *(volatile __u32 *)&trace_state.table_turn;
	slot->space_key = (slot->space_key << 32 | slot->space.number) * config.hash_seed[0];
	bpf_loop(STACK_WORDS / FRAMES_IN_TURN, unwind_callback, &slot, 0);
	cut = walked->mark & STACK_MARK_CUT_BITS;
	is_walked = cut < STACK_MARK_WALK + UNWIND_END_NO_MAPPING ||
		    cut > STACK_MARK_WALK + UNWIND_END_NO_TABLE;
	if (is_notice_due(slot, is_walked))
		notify_unmapped(tgid, is_walked);
	finish_walk(slot, SIDE_USER, 0, n_words(walked), walked->mark);
	clear_tail(words_of_side(slot, SIDE_USER), n_words(walked), HASH_GROUP);
	return 0;
}

/* --- the stack of a hit --- */

/*
 * Does the thread have memory with a program in it? An exec installs the new memory first. Then it
 * maps a part of a stack and, piece by piece, the new program. When all is there, the kernel sets
 * mm->end_code. Last, it replaces the registers. In between they belong to the old program.
 */
__noinline int has_program(void)
{
	const __u32 at = config.at.end_code;

	return !config.anywhere || !at || memory_member(at);
}

/*
 * Is there a user stack? Not for these threads:
 *
 * - Kernel threads.
 * - Threads that the kernel makes for a process (io_uring's, vhost's). They have a copy of their
 *   maker's registers, with two of them zeroed. Since Linux commit 50b7b6f29de3 ("x86/process:
 *   setup io_threads more like normal user space threads") (in v5.13).
 * - A thread at the end of its exit. It has registers, but no memory. The kernel's own walk gives
 *   nothing there, either.
 * - A thread in the second half of an exec: its registers belong to a program whose memory has
 *   gone.
 *
 * Events of system calls and user places do not occur in the last two.
 */
static __always_inline bool has_user_stack(const struct pt_regs *regs)
{
	if (config.anywhere && !has_program())
		return false;
	return regs_are_of_user(regs) && (regs_pc(regs) || regs_sp(regs));
}

/* Walk the user stack; without one there are no words. Returns KEY_* flags. */
static __always_inline __u32 walk_user(void *ctx, enum hit_kind kind, __u32 tgid,
				       struct scratch_slot *slot)
{
	const struct pt_regs *regs = ctx;
	bool is_exact;

	slot->walked[SIDE_USER].n = 0;
	slot->file.is_asked = 0;
	slot->deferred = 0;
	if (!is_user_hit(kind)) {
		regs = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (!has_user_stack(regs))
			return 0;
	}
	is_exact = is_user_hit(kind) || regs_are_exact(regs);
	if (RETURN_IS_IN_REGISTER)
		slot->regs.of[UNWIND_REG_THIRD] = regs_return_address(regs);
	if (!regs_are_of_64_bit(regs)) {
		walk_user_by_helper(ctx, slot);
	} else if (config.unwind) {
		regs_copy(&slot->regs, regs, is_exact);
		slot->is_at_entry = kind == HIT_USER_FUNCTION;
		unwind_user(slot, tgid);
	} else {
		walk_user_chain(slot, regs_pc(regs), regs_sp(regs), regs_fp(regs),
				kind == HIT_USER_FUNCTION);
	}
	return is_exact ? KEY_USER_PC_EXACT : 0;
}
