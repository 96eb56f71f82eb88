/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel_stack.bpf.h - walk the kernel's stack: by the kernel's helper, or by the kernel's own
 * tables (bpf/kernel_tables.h).
 */
#pragma once

#include "bpf/maps.bpf.h"

/* Does the kernel have a stack at the hit? */
static __always_inline bool has_kernel_stack(void *ctx, enum hit_kind kind)
{
	if (kind == HIT_SAMPLE)
		return !regs_are_of_user(ctx);
	return !is_user_hit(kind);
}

/* Does execution stand at the first address of the kernel's stack? */
static __always_inline bool is_kernel_pc_exact(void *ctx, enum hit_kind kind)
{
	return kind == HIT_KERNEL_FUNCTION || (kind == HIT_SAMPLE && sample_is_exact(ctx));
}

/* --- by the helper --- */

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

/* --- by tables --- */

/*
 * The walk begins at the event's registers. bpf_get_stack() begins in its own frame, and has to
 * walk out of BPF and perf first. That takes longer than most stacks do.
 *
 * The walk reads the kernel's memory by loads that give 0 where they would fault (load_kernel()),
 * or by bpf_probe_read_kernel(). So no register and no rule can do harm. A walk counts only if it
 * comes to where the kernel was entered, or a thread began. Else the stack is thrown away, and the
 * kernel's helper walks.
 */

struct kernel_walks kernel_walks;
struct recent_kernel_rule recent_kernel[RECENT_KERNEL_RULES];

/* Index: enum kernel_image_number. User space adds the images, and knows their size then. */
struct kernel_image_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, MAPPED | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64));
};
MAP_OF_MAPS(kernel_images, KERNEL_IMAGES, struct kernel_image_map);

/* The eight bytes around @place of an image. NULL: nothing is there. */
static __always_inline const __u64 *image_word(void *map, __u32 place)
{
	const __u32 i = place / 8;

	return bpf_map_lookup_elem(map, &i);
}

static __always_inline __u32 image_number_in(const __u64 *word, __u32 place)
{
	return (__u32)(*word >> (place % 8 * 8));
}

static __always_inline bool is_valid_image(__u32 number)
{
	const __u32 now = *(volatile __u32 *)&kernel_walks.generation;

	return number == KERNEL_IMAGE ||
	       (now == *(volatile __u32 *)&kernel_walks.modules_generation &&
		now != LAST_GENERATION);
}

/* The rule for the address @at of image @number. Entry 0 has no row, so one is always before. */
__noinline __u64 find_kernel_rule(__u32 number, __u64 at)
{
	const struct kernel_image *image = &kernel_walks.images[number % KERNEL_IMAGES];
	const __u32 i = number % KERNEL_IMAGES;
	void *map = bpf_map_lookup_elem(&kernel_images, &i);
	const __u64 *word, *next;
	struct unwind_search s;
	__u32 place, rule;

	if (!map || at - image->start >= image->bytes || !is_valid_image(i))
		return 0;
	place = image->pages +
		(__u32)((at >> UNWIND_PAGE_BITS) - (image->start >> UNWIND_PAGE_BITS)) * 4;
	word = image_word(map, place);
	next = image_word(map, place + 4);
	if (!word || !next)
		return 0;
	s.low = image_number_in(word, place);
	s.n = image_number_in(next, place + 4) - s.low;
	for (__u32 step = 0; step < UNWIND_PAGE_STEPS && s.n; step++) {
		const __u64 middle = s.low + s.n / 2;

		place = image->entries + (__u32)middle * 4;
		word = image_word(map, place);
		if (!word)
			return 0;
		unwind_search_step(&s, middle, (__u16)image_number_in(word, place), (__u16)at);
	}
	place = image->entries + (__u32)s.low * 4 - 4;
	word = image_word(map, place);
	if (!word)
		return 0;
	rule = image_number_in(word, place) >> 16;
	word = image_word(map, image->rules + rule * 8);
	return word && rule < image->n_rules ? *word : 0;
}

static __always_inline struct recent_kernel_rule *recent_kernel_rule_of(__u64 at)
{
	return &recent_kernel[at * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_KERNEL_BITS)];
}

/* The key of recent rules. */
static __always_inline __u64 kernel_key_of(__u64 at)
{
	return at ^ (__u64) * (volatile __u32 *)&kernel_walks.generation << 48;
}

/* Find the rule for the address @at, and keep it. 0: there is none; a module may come there. */
__noinline __u64 look_up_kernel_rule(__u64 at)
{
	const __u64 key = kernel_key_of(at);
	struct recent_kernel_rule *recent = recent_kernel_rule_of(at);
	const __u32 number = at - kernel_walks.images[KERNEL_IMAGE].start >=
			     kernel_walks.images[KERNEL_IMAGE].bytes;
	const __u64 rule = find_kernel_rule(number, at);

	if (rule) {
		*(volatile __u64 *)&recent->check = key ^ check_of_kernel_rule(rule);
		*(volatile __u64 *)&recent->rule = rule;
	} else if (number) {
		++*(volatile __u32 *)&kernel_walks.n_unknown;
	}
	return rule;
}

/* Likewise, but among the recent ones first. */
static __always_inline __u64 kernel_rule_at(__u64 at)
{
	const struct recent_kernel_rule *recent = recent_kernel_rule_of(at);
	const __u64 check = *(volatile __u64 *)&recent->check;
	__u64 rule = *(volatile __u64 *)&recent->rule;

	if ((check ^ check_of_kernel_rule(rule)) != kernel_key_of(at))
		rule = look_up_kernel_rule(at);
	return rule;
}

/*
 * How a walk reads a word: by a load, or by a helper where programs may not load
 * (config.loads_kernel). Functions have the code for both, and the verifier removes one.
 */
static _Bool read_by_load(void *from, __u64 at, __u64 *ret)
{
	(void)from;
	*ret = load_kernel(at);
	return 1;
}

static _Bool read_by_helper(void *from, __u64 at, __u64 *ret)
{
	(void)from;
	return bpf_probe_read_kernel(ret, sizeof(*ret), (void *)at) == 0;
}

/* A step of any kind. Returns enum kernel_end. */
__noinline int step_kernel_slowly(struct scratch_slot *slot, __u64 rule)
{
	if (!slot)
		return KERNEL_END_NO_ROW;
	return config.loads_kernel ? (int)kernel_step(&slot->kernel, rule, read_by_load, NULL)
				   : (int)kernel_step(&slot->kernel, rule, read_by_helper, NULL);
}

#define KERNEL_STEPS 4 /* of a call */

/* Note the frame, and go to its caller: some times. Returns enum kernel_end. */
static __always_inline int make_kernel_steps(struct scratch_slot *slot, unwind_read *read)
{
	struct kernel_regs regs = slot->kernel;
	__u64 *words = &words_of_side(slot, SIDE_KERNEL)[1];
	__u32 n = slot->walked[SIDE_KERNEL].n;
	int end = KERNEL_GOES_ON;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < KERNEL_STEPS; i++) {
		__u32 at = n;
		__u64 rule;

		if (n >= config.kernel_tables) {
			end = KERNEL_END_DEPTH;
			goto out;
		}
		barrier_var(at);
		words[at & (SHORT_WORDS - 1)] = regs.pc;
		n++;
		rule = kernel_rule_at(kernel_look_up_at(&regs));
		if (kernel_quickly(&regs, rule, read, NULL))
			continue;
		if (kernel_is_entry(&regs, rule, read, NULL)) {
			end = KERNEL_END_ROOT;
			goto out;
		}
		slot->kernel = regs;
		end = step_kernel_slowly(slot, rule);
		if (end)
			goto out;
		regs = slot->kernel;
	}
	slot->kernel = regs;
out:
	slot->walked[SIDE_KERNEL].n = n;
	return end;
}

__noinline int step_kernel(struct scratch_slot *slot)
{
	if (!slot)
		return KERNEL_END_NO_ROW;
	return config.loads_kernel ? make_kernel_steps(slot, read_by_load)
				   : make_kernel_steps(slot, read_by_helper);
}

struct kernel_stepping {
	struct scratch_slot *slot;
	int end;
};

static long step_kernel_callback(__u64 step, struct kernel_stepping *s)
{
	(void)step;
	s->end = step_kernel(s->slot);
	return s->end != KERNEL_GOES_ON;
}

/* The registers at the event. False: they are of no use for a walk. */
static __always_inline bool start_kernel_walk(void *ctx, enum hit_kind kind,
					      struct kernel_regs *regs, unwind_read *read)
{
	const struct pt_regs *at = ctx;

	if (is_kernel_pc_exact(ctx, kind)) {
		*regs = (struct kernel_regs){ regs_pc(at), regs_sp(at), regs_fp(at), 1 };
		return true;
	}
	if (kind == HIT_SAMPLE)
		*regs = (struct kernel_regs){ regs_pc(at), regs_sp(at), regs_fp(at), 0 };
	else if (!regs_read_caller(ctx, regs, read, NULL))
		return false;
	return kernel_leave_tracing(regs, read, NULL);
}

/* Walk from slot->kernel on, to where the helper puts words. Returns 0 if it is not whole. */
__noinline int walk_kernel_from_start(struct scratch_slot *slot)
{
	struct kernel_stepping s = { slot, KERNEL_GOES_ON };
	struct walked *walked;
	int end;

	if (!slot)
		return 0;
	walked = &slot->walked[SIDE_KERNEL];
	*walked = (struct walked){};
	if (!step_kernel_callback(0, &s))
		bpf_loop(SHORT_WORDS / KERNEL_STEPS, step_kernel_callback, &s, 0);
	end = s.end ? s.end : KERNEL_END_DEPTH;
	if (end == KERNEL_END_DEPTH && config.kernel_tables < config.kernel_limit)
		end = KERNEL_END_ROOT;
	++slot->counts.ends[end & (KERNEL_END_SLOTS - 1)];
	if (end != KERNEL_END_ROOT) {
		*(volatile __u64 *)&kernel_walks.fell_at[end & (KERNEL_END_SLOTS - 1)] =
			slot->kernel.pc;
		return 0;
	}
	finish_walk(slot, SIDE_KERNEL, 1, walked->n, STACK_MARK_NONE);
	clear_tail(&words_of_side(slot, SIDE_KERNEL)[1], n_words(walked), HASH_GROUP);
	return 1;
}

/* module_free(module): before the code is unmapped. See struct kernel_walks. */
SEC("?raw_tp")
int on_module_gone(void *ctx __attribute__((unused)))
{
	if (*(volatile __u32 *)&kernel_walks.generation < LAST_GENERATION)
		add_atomically(&kernel_walks.generation, 1);
	return 0;
}

/* --- for the copy of the tables: see struct kernel_reading --- */

struct kernel_reading kernel_reading;

SEC("?syscall")
int read_kernel(void *ctx __attribute__((unused)))
{
	__u64 n = kernel_reading.bytes;

	barrier_var(n);
	return n > KERNEL_PIECE_BYTES ||
	       bpf_probe_read_kernel(kernel_reading.piece, n, (void *)kernel_reading.addr);
}

/* Before Linux 6.2, this takes milliseconds. */
SEC("?syscall")
int find_symbol(void *ctx __attribute__((unused)))
{
	return bpf_kallsyms_lookup_name(kernel_reading.symbol, sizeof(kernel_reading.symbol), 0,
					&kernel_reading.symbol_at);
}

/* --- the whole --- */

/* Walk the stack by tables. False: it is not whole. */
static __always_inline bool walk_kernel_by_tables(void *ctx, enum hit_kind kind,
						  struct scratch_slot *slot)
{
	if (!*(volatile __u32 *)&kernel_walks.is_on)
		return false;
	if (!(config.loads_kernel ? start_kernel_walk(ctx, kind, &slot->kernel, read_by_load)
				  : start_kernel_walk(ctx, kind, &slot->kernel, read_by_helper))) {
		++slot->counts.ends[KERNEL_END_START];
		return false;
	}
	return walk_kernel_from_start(slot);
}

/* Is the helper to walk this stack, too? */
static __always_inline bool is_kernel_walk_checked(struct scratch_slot *slot)
{
	const __u64 n = slot->counts.ends[KERNEL_END_ROOT];

	if (!config.checks_kernel && n > CHECKED_FIRST && n % CHECKED_EVERY)
		return false;
	++slot->counts.n_checked;
	return true;
}

/* A walk has differed from the helper's, which is in the slot. */
static __always_inline void refuse_kernel_walks(struct scratch_slot *slot)
{
	*(volatile __u64 *)&kernel_walks.is_wrong = words_of_side(slot, SIDE_KERNEL)[1];
	++slot->counts.n_wrong;
	if (!config.checks_kernel)
		*(volatile __u32 *)&kernel_walks.is_on = 0;
}
