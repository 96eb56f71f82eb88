// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/stack.h"

#include <string.h>

#include "base/array.h"
#include "bpf/user_step.h"

#define WALK(end) [STACK_MARK_WALK + UNWIND_END_##end]

static const char early[] = "begin the run before new programs, or give them by -p or --";

static const struct {
	const char *words, *advice;
} marks[] = {
	[STACK_MARK_DEPTH] = { "depth", NULL },
	[STACK_MARK_UNREADABLE] = { "unreadable page", NULL },
	[STACK_MARK_FAILED] = { "not given by this kernel", NULL },
	[STACK_MARK_TORN] = { "forgotten", "try more --max-memory" },
	WALK(NO_MAPPING) = { "no mapping", early },
	WALK(NO_TABLE_YET) = { "no table yet", early },
	WALK(RING_FULL) = { "too many waited", early },
	WALK(NO_TABLE) = { "no table", "try more --unwind-memory" },
	WALK(NO_ROW) = { "no row", NULL },
	WALK(UNFIT) = { "rule not representable", NULL },
	WALK(UNREADABLE) = { "unreadable page", NULL },
	WALK(NOT_ADVANCING) = { "not advancing", NULL },
	WALK(CHAIN) = { "no frame pointer", "have JIT compilers keep frame pointers" },
	WALK(PROBED) = { "return probe of another tool", NULL },
	WALK(DEPTH) = { "depth", NULL },
	WALK(NOT_RECORDED) = { "stack not recorded", NULL },
};

static const char *mark_text(uint64_t cut)
{
	return cut < ARRAY_SIZE(marks) && marks[cut].words ? marks[cut].words : "depth";
}

void stack_put_cuts(const uint64_t cuts[CUTS], bool is_bounded, struct strbuf *to)
{
	const char *advice;
	uint64_t total = 0, cut = 0;
	size_t most = 0;

	for (size_t i = 0; i < CUTS; i++) {
		total += cuts[i];
		if (!i || (is_bounded && strcmp(mark_text(i), "depth") == 0))
			continue;
		cut += cuts[i];
		most = cuts[i] > (most ? cuts[most] : 0) ? i : most;
	}
	if (cut <= total / 100)
		return;
	advice = most < ARRAY_SIZE(marks) ? marks[most].advice : NULL;
	strbuf_printf(to, "%.1f%% of the hits have a cut stack, most often [cut: %s] (%s)",
		      100 * (double)cut / (double)total, mark_text(most),
		      advice ? advice : "stackcount(8) explains the mark");
}

/*
 * Drop the tracing's own frames at the top of a kernel stack: those before the first other frame.
 * BPF may have put the traced function in front of them (bpf/stackcount.bpf.c): then those behind
 * it. Returns the number of frames that are left.
 */
static uint32_t trim_machinery(const struct frame_table *table, uint32_t *frames, uint32_t n)
{
	uint32_t first = 0, kept = 0, next;

	while (first < n && table->frames[frames[first]].is_machinery)
		first++;
	if (first == n)
		return n; /* show these if there are no others */
	frames[kept++] = frames[first];
	next = first + 1;
	while (first == 0 && next < n && table->frames[frames[next]].is_machinery)
		next++;
	while (next < n)
		frames[kept++] = frames[next++];
	return kept;
}

#define MOST_MARKS 3 /* of a stack */

/* The last word, if it is a mark; else 0. */
static uint64_t mark_of_stack(const struct raw_stack *stack)
{
	uint64_t last = stack->n ? stack->words[stack->n - 1] : 0;

	return last < STACK_MARK_END ? last : 0;
}

uint64_t stack_cut(const struct raw_stack *stack)
{
	return mark_of_stack(stack) & STACK_MARK_CUT_BITS;
}

/*
 * Keep the @max_depth innermost of the @n @frames, if it is not 0, and add the stack's marks. A
 * mark for unverified frames stays, because the innermost ones may be wrong, too. Returns the
 * number of frames.
 */
static uint32_t put_stack_marks(struct symbolizer *s, uint64_t mark, uint64_t max_depth,
				uint32_t *frames, uint32_t n)
{
	const uint64_t cut = mark & STACK_MARK_CUT_BITS;
	const bool is_deeper = max_depth && n > max_depth;

	if (is_deeper)
		n = (uint32_t)max_depth;
	if (mark & STACK_MARK_UNVERIFIED)
		frames[n++] = symbolize_mark(s, FRAME_UNVERIFIED, "frame pointers");
	if (mark & STACK_MARK_32_BIT)
		frames[n++] = symbolize_mark(s, FRAME_UNVERIFIED, "32-bit program");
	if (is_deeper || cut)
		frames[n++] = symbolize_mark(s, FRAME_CUT, is_deeper ? "depth" : mark_text(cut));
	return n;
}

uint32_t name_kernel_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			   uint32_t frames[STACK_WORDS])
{
	const uint64_t *words = stack->words;
	struct kernel_pc pc = { .time = stack->time };
	const uint64_t mark = mark_of_stack(stack);
	const uint32_t n = (uint32_t)stack->n - !!mark;

	for (size_t i = 0; i < n; i++) {
		pc.addr = words[i];
		pc.is_exact = i == 0 && (stack->flags & KEY_KERNEL_PC_EXACT);
		frames[i] = symbolize_kernel(s, &pc);
	}
	return put_stack_marks(s, mark, max_depth, frames,
			       trim_machinery(symbolizer_frames(s), frames, n));
}

/* The process and time of a user stack. */
static struct user_pc begin_user_stack(struct symbolizer *s, const struct raw_stack *stack)
{
	struct user_pc pc = { .process = process_key(stack->tgid, stack->flags >> KEY_LIFE_SHIFT),
			      .time = stack->time };

	pc.epoch = symbolizer_epoch(s, pc.process, pc.time);
	return pc;
}

static void set_user_address(const struct raw_stack *stack, size_t i, struct user_pc *ret)
{
	ret->addr = stack->words[i] & ~(STACK_WORD_EXACT | STACK_WORD_PLAIN);
	ret->is_exact =
		i == 0 ? stack->flags & KEY_USER_PC_EXACT : stack->words[i] & STACK_WORD_EXACT;
}

void want_user_stack(struct symbolizer *s, const struct raw_stack *stack)
{
	const size_t n_words = stack->n - !!mark_of_stack(stack);
	struct user_pc pc = {};

	if (n_words)
		pc = begin_user_stack(s, stack);
	for (size_t i = 0; i < n_words; i++) {
		set_user_address(stack, i, &pc);
		symbolizer_want(s, &pc);
	}
}

uint32_t name_known_user_stack(struct symbolizer *s, const struct raw_stack *stack,
			       uint64_t max_depth, uint32_t frames[USER_FRAMES], bool *is_whole)
{
	const uint64_t mark = mark_of_stack(stack);
	const size_t n_words = stack->n - !!mark;
	const uint32_t most = USER_FRAMES - MOST_MARKS;
	struct user_pc pc = {};
	uint32_t n = 0;

	if (n_words)
		pc = begin_user_stack(s, stack);
	*is_whole = true;
	for (size_t i = 0; i < n_words; i++) {
		set_user_address(stack, i, &pc);
		if (n == most)
			return put_stack_marks(s, mark, max_depth ? max_depth : n - 1, frames, n);

		const size_t n_of_word = symbolize_user(s, &pc, frames + n, most - n);

		*is_whole = *is_whole && n_of_word;
		n += (uint32_t)n_of_word;
	}
	return put_stack_marks(s, mark, max_depth, frames, n);
}

uint32_t name_user_stack(struct symbolizer *s, const struct raw_stack *stack, uint64_t max_depth,
			 uint32_t frames[USER_FRAMES])
{
	bool is_whole;
	uint32_t n;

	symbolizer_defer(s);
	do
		n = name_known_user_stack(s, stack, max_depth, frames, &is_whole);
	while (symbolizer_fetch(s));
	return n;
}
