/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/checked.bpf.h - a step by frame pointer from code without a row, with the checks of
 * bpf/checked.h. A step that passes only the weaker checks is taken, and the stack is marked.
 *
 * Stacks with rows run none of this. Global functions: the verifier looks at each once.
 */
#pragma once

#include "bpf/checked.h"
#include "bpf/rule.bpf.h"
#include "bpf/walk.bpf.h"

int read_word(struct scratch_slot *slot, __u64 at);

/*
 * The result of bpf_loop()'s callback: 0 or 1. To the verifier a global function may return any
 * number. clang 19 infers 0 or 1 from our code, and drops a comparison that would tell the
 * verifier.
 */
static __always_inline long loop_result(int is_over)
{
	asm volatile("" : "+r"(is_over));
	return is_over != 0;
}

/* May what @bytes end at be a return address? */
static __always_inline __u64 may_return_behind(__u64 bytes)
{
	return (__u64)code_may_be_call(bytes) | code_may_be_template(bytes);
}

/* Does the next word, number slot->hidden_at above rsp, look like a return address? */
__noinline int find_hidden(struct scratch_slot *slot)
{
	__u64 word, sp;

	if (!slot)
		return 1;
	sp = slot->regs.of[UNWIND_RSP];
	slot->hidden = 0;
	if (read_word(slot, sp + slot->hidden_at++ * 8)) {
		word = slot->word;
		if (!code_is_address(word, sp) ||
		    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(word - 8)) ||
		    !may_return_behind(slot->word))
			return 0;
		slot->hidden = word;
	}
	slot->is_hidden = 1;
	return 1;
}

static long hidden_callback(__u64 i, struct scratch_slot **slot)
{
	(void)i;
	return loop_result(find_hidden(*slot));
}

/* Does one of the next @n words? Then it is slot->hidden. */
__noinline int has_hidden(struct scratch_slot *slot, __u32 n)
{
	if (!slot || n > PROVEN_FRAME_WORDS)
		return 1;
	slot->is_hidden = 0;
	if (config.has_loop) {
		bpf_loop(n, hidden_callback, &slot, 0);
		return (int)slot->is_hidden;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < PROVEN_FRAME_WORDS; i++)
		if (i >= n || find_hidden(slot))
			break;
	return (int)slot->is_hidden;
}

static long note_code(struct task_struct *task, struct vm_area_struct *vma,
		      struct scratch_slot **at)
{
	(void)task;
	(*at)->file.is_made = *(const __u64 *)member(vma, config.vma.vm_flags) & VM_EXEC;
	return 0;
}

/* May there be code at @addr? What user space has not told of yet, is asked of the kernel. */
static __always_inline bool may_be_code(struct scratch_slot *slot, __u64 addr)
{
	const __u32 number = find_mapping(slot, addr) - 1;

	if (number < MOST_MAPPINGS &&
	    load_word(slot, PLACE(slot->space.mappings, unwind_mapping, number, end)) &&
	    addr < slot->word)
		return true;
	return !config.asks_kernel || slot->asking != ASK_FREELY ||
	       bpf_find_vma(bpf_get_current_task_btf(), addr, note_code, &slot, 0) ||
	       slot->file.is_made;
}

/* Could there be a return address between rsp and rbp, @n words further up? */
static __always_inline bool hides_caller(struct scratch_slot *slot, __u64 n)
{
	slot->hidden_at = 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MOST_HIDDEN; i++) {
		if (n > PROVEN_FRAME_WORDS || slot->hidden_at > n)
			return true;
		if (!has_hidden(slot, (__u32)(n - slot->hidden_at)))
			return false;
		if (!slot->hidden || may_be_code(slot, slot->hidden))
			return true;
	}
	return true;
}

/*
 * Examine word @i of the slot's code, last word first. Returns 1 to stop: slot->frames is then not
 * 0 if the last frame set-up stands behind the last byte that a function could end with.
 */
__noinline int find_frame(struct scratch_slot *slot, __u32 i)
{
	__u64 ends;

	if (!slot)
		return 1;
	i = (CODE_WORDS - 1 - i) & (CODE_WORDS - 1);
	ends = code_ends(slot->code[i], slot->code[i + 1]);
	slot->frames = code_frames(slot->code[i], slot->code[i + 1]);
	slot->frames_at = i;
	if (slot->frames > ends)
		return 1;
	slot->frames = 0;
	return ends != 0;
}

static long frame_callback(__u64 i, struct scratch_slot **slot)
{
	return loop_result(find_frame(*slot, (__u32)i));
}

/*
 * Is the pc in a function that has made its frame? @called is the callee of the call before its
 * return address, 0 if the call is not direct.
 */
__noinline int is_in_frame(struct scratch_slot *slot, __u64 called)
{
	__u64 start;

	if (!slot)
		return 0;
	start = slot->regs.pc - CODE_BYTES;
	if (bpf_probe_read_user(slot->code, CODE_BYTES, (void *)start))
		return 0;
	slot->code[CODE_WORDS] = 0;
	if (!slot->regs.is_exact && (__u8)(slot->code[CODE_WORDS - 1] >> 24) == 0xe8)
		slot->code[CODE_WORDS - 1] &= 0xffffff; /* the call's own bytes mean nothing */
	if (config.has_loop) {
		bpf_loop(CODE_WORDS, frame_callback, &slot, 0);
	} else {
#pragma clang loop unroll(disable)
		for (__u32 i = 0; i < CODE_WORDS; i++)
			if (find_frame(slot, i))
				break;
	}
	return slot->frames && (!called || code_is_frame_of(called - start, slot->frames_at));
}

/* By the call that leads to @called. See bpf/checked.h. */
static __always_inline bool is_proven(struct scratch_slot *slot, __u64 called)
{
	const __u64 n_words = (slot->regs.of[UNWIND_RBP] - slot->regs.of[UNWIND_RSP]) / 8;

	return n_words <= PROVEN_FRAME_WORDS && is_in_frame(slot, called) &&
	       !hides_caller(slot, n_words);
}

/*
 * Put the last 8 bytes before the return address *@ret, at @at of the stack, into slot->word. 0: no
 * call is there. makecontext(), or the code that begins a fiber, put the address on the stack: see
 * end_at_beginning().
 */
static __always_inline bool find_call(struct scratch_slot *slot, __u64 at, __u64 *ret)
{
	bool is_gap, is_root;
	int end;

	if (!read_word(slot, at))
		return false;
	*ret = slot->word;
	if (*ret < LEAST_CODE)
		return false;
	end = known_rule(slot, *ret - 1);
	if (end && end != UNWIND_END_NO_TABLE && end != UNWIND_END_NO_TABLE_YET)
		return false;
	is_gap = !end && slot->rule.how == UNWIND_NO_ROW;
	is_root = !end && slot->rule.how == UNWIND_OUTERMOST;
	if (bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(*ret - 8)))
		return false;
	if (code_may_be_call(slot->word))
		return true;
	is_gap = is_gap && !known_rule(slot, *ret) && slot->rule.how != UNWIND_NO_ROW;
	slot->word = 0;
	return is_gap || is_root;
}

/* The rule by the instructions at the pc; UNWIND_NO_ROW: they give none. */
static __always_inline struct unwind_rule edge_rule(struct scratch_slot *slot)
{
	if (slot->regs.known != UNWIND_ALL_KNOWN ||
	    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(slot->regs.pc - 1)))
		return (struct unwind_rule){};
	return code_edge_rule(slot->word);
}

/* Find the rule for the slot's frame, which no row covers; or why the walk ends. */
static __always_inline int find_checked(struct scratch_slot *slot)
{
	const __u64 sp = slot->regs.of[UNWIND_RSP];
	const __u64 bp = slot->regs.of[UNWIND_RBP];
	struct unwind_rule rule = edge_rule(slot);
	const bool is_edge = rule.how != UNWIND_NO_ROW;
	__u64 pc;

	if (!is_edge) {
		rule = UNWIND_BY_FRAMES(UNWIND_IS);
		if (!unwind_is_known(&slot->regs, UNWIND_RBP) || bp % 8 ||
		    bp - sp >= UNWIND_LIKELY_STACK_BYTES)
			return UNWIND_END_NO_ROW;
	}
	if (!find_call(slot, (is_edge ? sp : bp) + (__u64)rule.offset - 8, &pc))
		return UNWIND_END_NO_ROW;
	if (!is_edge && !is_proven(slot, code_called(pc, slot->word)))
		slot->walked[SIDE_USER].mark |= STACK_MARK_UNVERIFIED;
	slot->rule = rule;
	return UNWIND_GOES_ON;
}

/* Word @i of the slot's code, the last one first: is a frame made there, whatever is behind? */
static __always_inline bool find_any_frame(struct scratch_slot *slot, __u32 i)
{
	i = (CODE_WORDS - 1 - i) & (CODE_WORDS - 1);
	slot->frames = code_frames(slot->code[i], slot->code[i + 1]);
	slot->frames_at = i;
	return slot->frames != 0;
}

static long any_frame_callback(__u64 i, struct scratch_slot **slot)
{
	return loop_result(find_any_frame(*slot, (__u32)i));
}

/* The room that the frame takes which is made last before the pc, in bytes; 0: not known. */
__noinline int find_room(struct scratch_slot *slot)
{
	__u64 start;

	if (!slot)
		return 0;
	start = slot->regs.pc - CODE_BYTES;
	if (bpf_probe_read_user(slot->code, CODE_BYTES, (void *)start))
		return 0;
	slot->code[CODE_WORDS] = 0;
	if (config.has_loop) {
		bpf_loop(CODE_WORDS, any_frame_callback, &slot, 0);
	} else {
#pragma clang loop unroll(disable)
		for (__u32 i = 0; i < CODE_WORDS; i++)
			if (find_any_frame(slot, i))
				break;
	}
	start += slot->frames_at * 8ULL + code_last_frame(slot->frames) + 4;
	if (!slot->frames || bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)start))
		return 0;
	return (int)code_room(slot->word);
}

/*
 * Does the code before the pc make a frame of just the room between rsp and rbp? What was found is
 * kept among the recent rules, by an address where nothing is: JIT compilers' code is large.
 */
static __always_inline bool is_of_room(struct scratch_slot *slot, __u64 bytes)
{
	const __u64 key = ~slot->regs.pc ^ slot->space_key;
	struct recent_set *set = recent_set(key);

	if (!set)
		return false;
	if (config.no_recent_rules || !take_recent(slot, set, key)) {
		slot->rule = (struct unwind_rule){ .offset = find_room(slot), .how = UNWIND_UNFIT };
		keep_recent(slot, set, key);
	}
	return bytes && (__u64)slot->rule.offset == bytes;
}

/*
 * Is the frame that rbp points to the caller's, of what a JIT compiler made? What is left out has a
 * return address between rsp and rbp. But so may a frame of which not all was written yet.
 */
static __always_inline bool is_made_proven(struct scratch_slot *slot)
{
	const __u64 bp = slot->regs.of[UNWIND_RBP];
	const __u64 room = bp - slot->regs.of[UNWIND_RSP];
	__u64 pc;

	if (!unwind_is_known(&slot->regs, UNWIND_RBP) || bp % 8 || room > PROVEN_FRAME_WORDS * 8 ||
	    !read_word(slot, bp + 8))
		return false;
	pc = slot->word;
	if (pc < LEAST_CODE ||
	    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(pc - 8)) ||
	    !may_return_behind(slot->word))
		return false;
	if (!slot->regs.is_exact &&
	    bpf_probe_read_user(&slot->word, sizeof(slot->word), (void *)(slot->regs.pc - 8)) ==
		    0 &&
	    code_may_be_template(slot->word))
		return true; /* in the interpreter, which keeps rbp */
	return !hides_caller(slot, room / 8) || (!slot->regs.is_exact && is_of_room(slot, room));
}

/* The rule for what a JIT compiler made, into slot->rule. Returns whether it is proven. */
static __always_inline bool find_made(struct scratch_slot *slot)
{
	const struct unwind_rule rule = edge_rule(slot);
	const bool is_edge = rule.how != UNWIND_NO_ROW;
	const bool is_proven = is_edge || is_made_proven(slot);

	slot->rule = is_edge ? rule : UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES);
	return is_proven;
}
