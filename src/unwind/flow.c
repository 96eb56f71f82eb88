// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A forward data-flow analysis. Unknown values stay unknown, so the analysis comes to a place again
 * a few times at most. The number of instructions is bounded.
 *
 * Execution passes a call only if the callee may return: the analysis has found a return in it, or
 * it is in other code. Otherwise the function after a call of abort() would get the caller's frame.
 */
#include "unwind/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elf/gopclntab.h"

/* --- frames --- */

#define MAX_DEPTH (1 << 28)

/* Forget a saved register below the stack pointer, because a signal handler may overwrite it at any
 * time. */
static bool set_depth(struct frame *f, int64_t depth)
{
	if (depth % 8 || depth > MAX_DEPTH || depth < 8)
		return false;
	f->depth = (int32_t)depth;
	if (f->fp_saved > depth)
		f->fp_saved = 0;
	if (f->third_saved > depth)
		f->third_saved = 0;
	return true;
}

static bool move_sp(struct frame *f, int64_t by)
{
	if (f->depth == FRAME_NOT_KNOWN)
		return true;
	return by < MAX_DEPTH && by > -MAX_DEPTH && set_depth(f, f->depth - by);
}

/* The depth of @base + @value. False: not known. */
static bool depth_of(const struct frame *f, uint8_t base, int64_t value, int64_t *ret)
{
	int64_t depth = FRAME_NOT_KNOWN;

	if (base == REGISTER_SP)
		depth = f->depth;
	else if (base == REGISTER_FP && f->fp == FRAME_POINTER)
		depth = f->fp_depth;
	*ret = depth - value;
	return depth != FRAME_NOT_KNOWN && value < MAX_DEPTH && value > -MAX_DEPTH;
}

static void write_register(struct frame *f, uint8_t reg)
{
	if (reg == REGISTER_SP)
		f->depth = FRAME_NOT_KNOWN;
	if (reg == REGISTER_FP) {
		f->fp = FRAME_OTHER;
		f->fp_depth = 0;
	}
	if (reg == REGISTER_THIRD)
		f->third = FRAME_OTHER;
	if (reg == f->end_reg)
		f->end_reg = REGISTER_NONE;
}

static bool overlaps_saved(int64_t depth, uint32_t bytes, int32_t saved)
{
	return saved && depth > saved - 8 && depth < (int64_t)saved + bytes;
}

/* Compilers save a register by a push, and some by a move to its place on the stack. */
static void save_by_store(const struct instruction *i, int64_t depth, uint8_t reg, uint8_t holds,
			  int32_t *saved)
{
	const bool is_saved = i->store_reg == reg && holds == FRAME_CALLERS;

	if (overlaps_saved(depth, i->store_bytes, *saved) && !(is_saved && depth == *saved))
		*saved = 0;
	if (is_saved && !*saved)
		*saved = (int32_t)depth;
}

static bool apply_store(struct frame *f, const struct instruction *i)
{
	int64_t depth;

	if (!i->store_bytes || !depth_of(f, i->store_base, i->store_value, &depth))
		return true;
	if (overlaps_saved(depth, i->store_bytes, 8))
		return false;
	if (depth <= 8 || (f->depth != FRAME_NOT_KNOWN && depth > f->depth))
		return true;
	save_by_store(i, depth, REGISTER_FP, f->fp, &f->fp_saved);
	save_by_store(i, depth, REGISTER_THIRD, f->third, &f->third_saved);
	return true;
}

static bool push_register(struct frame *f, uint8_t reg)
{
	if (f->depth == FRAME_NOT_KNOWN)
		return true;
	if (!set_depth(f, f->depth + 8L))
		return false;
	if (reg == REGISTER_FP && f->fp == FRAME_CALLERS && !f->fp_saved)
		f->fp_saved = f->depth;
	if (reg == REGISTER_THIRD && f->third == FRAME_CALLERS && !f->third_saved)
		f->third_saved = f->depth;
	return true;
}

/* Load @reg from @depth. */
static void load_saved(struct frame *f, uint8_t reg, int64_t depth)
{
	write_register(f, reg);
	if (reg == REGISTER_FP && f->fp_saved && depth == f->fp_saved)
		f->fp = FRAME_CALLERS;
	if (reg == REGISTER_THIRD && f->third_saved && depth == f->third_saved)
		f->third = FRAME_CALLERS;
}

static bool pop_register(struct frame *f, uint8_t reg)
{
	load_saved(f, reg, f->depth);
	return move_sp(f, 8);
}

/* Set register @i->reg to base + value. */
static bool assign_register(struct frame *f, const struct instruction *i)
{
	int64_t depth;
	const bool is_known = depth_of(f, i->base, i->value, &depth) && depth < MAX_DEPTH;

	write_register(f, i->reg);
	if (!is_known)
		return true;
	if (i->reg == REGISTER_SP)
		return set_depth(f, depth);
	if (depth < 0)
		return true;
	if (i->reg == REGISTER_FP) {
		f->fp = FRAME_POINTER;
		f->fp_depth = (int32_t)depth;
	} else if (i->kind == INSTRUCTION_LEA && i->reg != REGISTER_THIRD) {
		f->end_reg = i->reg;
		f->end_depth = (int32_t)depth;
	}
	return true;
}

static bool leave_frame(struct frame *f)
{
	int64_t depth;
	const bool is_known = depth_of(f, REGISTER_FP, 0, &depth);

	f->depth = FRAME_NOT_KNOWN;
	if (is_known && !set_depth(f, depth))
		return false;
	return pop_register(f, REGISTER_FP);
}

/*
 * Change @f to the frame after @i. False: compilers make no such instruction or frame. Then @f is
 * undefined.
 */
static bool frame_step(struct frame *f, const struct instruction *i)
{
	int64_t depth;

	if (!apply_store(f, i))
		return false;
	switch (i->kind) {
	case INSTRUCTION_PUSH:
		return push_register(f, i->reg);
	case INSTRUCTION_POP:
		return pop_register(f, i->reg);
	case INSTRUCTION_ADD:
		return move_sp(f, i->value);
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LEA:
		return assign_register(f, i);
	case INSTRUCTION_LOAD:
		if (!depth_of(f, i->base, i->value, &depth))
			depth = FRAME_NOT_KNOWN;
		load_saved(f, i->reg, depth);
		return true;
	case INSTRUCTION_LEAVE:
		return leave_frame(f);
	case INSTRUCTION_BAD:
		return false;
	default:
		for (unsigned reg = 0; reg < REGISTER_NONE; reg++)
			if (i->writes >> reg & 1)
				write_register(f, (uint8_t)reg);
		return true;
	}
}

/* The frame where paths with @a and @b meet. */
static struct frame frame_merge(const struct frame *a, const struct frame *b)
{
	struct frame f = *a;

	if (a->depth != b->depth)
		f.depth = FRAME_NOT_KNOWN;
	if (a->fp != b->fp || a->fp_depth != b->fp_depth)
		write_register(&f, REGISTER_FP);
	if (a->third != b->third)
		f.third = FRAME_OTHER;
	if (a->fp_saved != b->fp_saved)
		f.fp_saved = 0;
	if (a->third_saved != b->third_saved)
		f.third_saved = 0;
	if (a->end_reg != b->end_reg || a->end_depth != b->end_depth)
		f.end_reg = REGISTER_NONE;
	if (f.end_reg == REGISTER_NONE)
		f.end_depth = 0;
	return f;
}

static bool frame_is_same(const struct frame *a, const struct frame *b)
{
	return a->depth == b->depth && a->fp == b->fp && a->third == b->third &&
	       a->fp_saved == b->fp_saved && a->third_saved == b->third_saved &&
	       a->fp_depth == b->fp_depth && a->end_reg == b->end_reg &&
	       (a->end_reg == REGISTER_NONE || a->end_depth == b->end_depth);
}

/* Is the frame as at the entry, so that the function may return or jump to another one? */
static bool frame_is_clean(const struct frame *f)
{
	return f->depth == FRAME_ENTRY_DEPTH && f->fp == FRAME_CALLERS && f->third == FRAME_CALLERS;
}

static struct cfi_value value_of_saved(uint8_t holds, int32_t saved)
{
	if (saved)
		return (struct cfi_value){ .how = CFI_AT_CFA, .offset = -saved };
	return (struct cfi_value){ .how = holds == FRAME_CALLERS ? CFI_SAME : CFI_UNDEFINED };
}

/* The row of a frame at @vaddr; a gap if nothing leads to the CFA. That is relative to the frame
 * pointer if it is the usual one, as in compilers' CFI. */
static struct cfi_row frame_row(const struct frame *f, uint64_t vaddr)
{
	const bool by_fp = f->fp == FRAME_POINTER && (f->depth == FRAME_NOT_KNOWN ||
						      (f->fp_depth == 16 && f->fp_saved == 16));
	struct cfi_row row = {
		.vaddr = vaddr,
		.cfa = { .how = CFI_IS,
			 .reg = by_fp ? CFI_FP : CFI_SP,
			 .offset = by_fp ? f->fp_depth : f->depth },
		.third = value_of_saved(f->third, f->third_saved),
		.fp = value_of_saved(f->fp, f->fp_saved),
		.sp = { .how = CFI_IS_CFA },
		.pc = { .how = CFI_AT_CFA, .offset = -8 }, /* ARCH_CALL_PUSHES */
	};

	if (!by_fp && f->depth == FRAME_NOT_KNOWN)
		return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_GAP };
	return row;
}

/* --- execution --- */

#define MAX_FUNCTIONS 0xffffU
#define MAX_PASSES 100 /* over waiting calls, whose callees may wait, too */
#define VISITS 8       /* of a place on average, at most */

void flow_init(struct flow *f)
{
	f->n_places = 0;
	for (size_t i = 0; i < f->n_spans; i++) {
		f->spans[i].first = f->n_places;
		f->n_places += f->spans[i].end - f->spans[i].start;
	}
	f->frame_of = xcalloc(f->n_places + 1, sizeof(*f->frame_of));
	f->owner_of = xcalloc(f->n_places + 1, sizeof(*f->owner_of));
	f->flags = xcalloc(f->n_places + 1, sizeof(*f->flags));
	f->budget = VISITS * f->n_places;
}

void flow_fini(struct flow *f)
{
	free(f->spans);
	free(f->frame_of);
	free(f->owner_of);
	free(f->flags);
	free(f->frames);
	free(f->functions);
	free(f->items);
	free(f->waits);
	free(f->edges);
	*f = (struct flow){};
}

/* The number of the first span that ends after @vaddr; n_spans: there is none. */
static size_t flow_next_span(const struct flow *f, uint64_t vaddr)
{
	const size_t n = array_count_below(f->spans, f->n_spans, sizeof(*f->spans), vaddr);

	return n && f->spans[n - 1].end > vaddr ? n - 1 : n;
}

const struct flow_span *flow_span_of(const struct flow *f, uint64_t vaddr)
{
	const size_t i = flow_next_span(f, vaddr);

	return i < f->n_spans && f->spans[i].start <= vaddr ? &f->spans[i] : NULL;
}

size_t flow_place(const struct flow *f, uint64_t vaddr)
{
	const struct flow_span *s = flow_span_of(f, vaddr);

	return s ? s->first + (vaddr - s->start) : SIZE_MAX;
}

struct instruction flow_instruction(const struct flow_span *s, uint64_t vaddr)
{
	return instruction_at(s->code + (vaddr - s->start), s->end - vaddr, vaddr);
}

static uint32_t leader_of(struct flow *f, uint32_t number)
{
	struct flow_function *functions = f->functions;

	while (functions[number].leader != number) {
		functions[number].leader = functions[functions[number].leader].leader;
		number = functions[number].leader;
	}
	return number;
}

struct flow_function *flow_group(struct flow *f, uint32_t number)
{
	return &f->functions[leader_of(f, number)];
}

static void unite_groups(struct flow *f, uint32_t a, uint32_t b)
{
	struct flow_function *into = flow_group(f, a);
	const struct flow_function *from = flow_group(f, b);

	if (into == from)
		return;
	f->functions[from->leader].leader = into->leader;
	into->may_return |= from->may_return;
	into->is_bad |= from->is_bad;
	into->is_proven |= from->is_proven;
	into->is_open |= from->is_open;
	into->has_call |= from->has_call;
}

void flow_enter(struct flow *f, uint64_t vaddr, uint32_t owner, const struct frame *frame)
{
	const struct flow_item item = { .vaddr = vaddr, .owner = owner, .frame = *frame };

	array_push(f->items, f->n_items, f->items_capacity, item);
}

void flow_add(struct flow *f, uint64_t vaddr, bool is_named, uint8_t flag)
{
	const size_t place = flow_place(f, vaddr);
	const struct frame frame = { .depth = FRAME_ENTRY_DEPTH, .end_reg = REGISTER_NONE };
	const uint32_t number = (uint32_t)f->n_functions;
	const struct flow_function function = { .start = vaddr,
						.leader = number,
						.is_named = is_named };

	if (place == SIZE_MAX || f->flags[place] & FLOW_ENTRY)
		return;
	if (number == MAX_FUNCTIONS) {
		f->is_over = true;
		return;
	}
	f->flags[place] |= flag;
	f->is_late |= (f->flags[place] & (FLOW_VISITED | FLOW_INSIDE)) != 0;
	if (!(f->flags[place] & FLOW_VISITED))
		f->owner_of[place] = (uint16_t)number;
	array_push(f->functions, f->n_functions, f->functions_capacity, function);
	flow_enter(f, vaddr, number, &frame);
}

/*
 * Execution arrives at @place with @frame. False: the analysis learns nothing new from that. If we
 * only guess that a function begins where this one does, it contradicts itself by arriving at other
 * functions' code with another frame.
 */
static bool arrive_at_place(struct flow *f, size_t place, uint32_t owner, struct frame *frame,
			    bool is_start)
{
	struct frame *was, merged;

	if (!(f->flags[place] & FLOW_VISITED)) {
		f->flags[place] |= FLOW_VISITED;
		f->owner_of[place] = (uint16_t)owner;
		f->frame_of[place] = (uint32_t)f->n_frames;
		array_push(f->frames, f->n_frames, f->frames_capacity, *frame);
		return true;
	}
	was = &f->frames[f->frame_of[place]];
	if (f->is_weak && flow_group(f, owner) != flow_group(f, f->owner_of[place]) &&
	    !frame_is_same(was, frame)) {
		flow_group(f, owner)->is_bad = true;
		return false;
	}
	if (is_start && !frame_is_same(was, frame))
		flow_group(f, owner)->is_bad = true;
	unite_groups(f, f->owner_of[place], owner);
	merged = frame_merge(was, frame);
	if (frame_is_same(&merged, was))
		return false;
	*frame = *was = merged;
	return true;
}

/* Mark the bytes of an instruction. Compilers make no instructions that overlap. */
static void mark_instruction(struct flow *f, size_t place, size_t length, uint32_t owner)
{
	bool is_bad = f->flags[place] & FLOW_INSIDE;

	for (size_t i = 1; i < length; i++) {
		is_bad |= (f->flags[place + i] & FLOW_VISITED) != 0;
		f->flags[place + i] |= FLOW_INSIDE;
	}
	if (is_bad)
		flow_group(f, owner)->is_bad = true;
}

/* A jump to a function's entry is a tail call, which waits until the callee may return. */
static void follow_jump(struct flow *f, const struct flow_item *at, uint64_t target)
{
	const size_t place = flow_place(f, target);

	if (place == SIZE_MAX)
		flow_group(f, at->owner)->may_return = true;
	else if (!(f->flags[place] & FLOW_ENTRY))
		flow_enter(f, target, at->owner, &at->frame);
	else
		array_push(
			f->waits, f->n_waits, f->waits_capacity,
			((struct flow_item){ .callee = f->owner_of[place], .owner = at->owner }));
}

/* Returns whether execution passes the call now. */
static bool follow_call(struct flow *f, struct flow_item *at, const struct instruction *i)
{
	const uint64_t behind = at->vaddr + i->length;
	const size_t place = flow_place(f, i->target);

	flow_group(f, at->owner)->has_call = true;
	at->frame.end_reg = REGISTER_NONE; /* the callee preserves the others that we track */

	struct flow_item wait = { .vaddr = behind, .owner = at->owner, .frame = at->frame };

	if (i->kind == INSTRUCTION_CALL_POINTER || place == SIZE_MAX)
		return true;
	if (i->target == behind) {
		flow_group(f, at->owner)->is_bad = true;
		return false;
	}
	flow_add(f, i->target, false, FLOW_ENTRY);
	if (f->is_over)
		return false;
	wait.callee = f->owner_of[place]; /* the place has FLOW_ENTRY */
	array_push(f->edges, f->n_edges, f->edges_capacity,
		   ((struct flow_edge){ at->owner, wait.callee }));
	if (flow_group(f, wait.callee)->may_return)
		return true;
	array_push(f->waits, f->n_waits, f->waits_capacity, wait);
	return false;
}

/*
 * Returns whether execution passes the instruction. The one before has compared register @compared
 * with the stack pointer, if it is not REGISTER_NONE.
 */
static bool follow_instruction(struct flow *f, struct flow_item *at, const struct instruction *i,
			       uint8_t compared)
{
	struct flow_function *group = flow_group(f, at->owner);

	switch (i->kind) {
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_POINTER:
		return follow_call(f, at, i);
	case INSTRUCTION_JUMP:
		follow_jump(f, at, i->target);
		return false;
	case INSTRUCTION_JUMP_POINTER:
		/* One that leaves is a tail call, to a function that may return. */
		group->may_return |= frame_is_clean(&at->frame) &&
				     pointer_jump_of(f, at->vaddr, i) == POINTER_LEAVES;
		group->is_open = true;
		return false;
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_BRANCH_UNEQUAL:
		follow_jump(f, at, i->target);
		/* It may end a loop that probes the stack down to a register. */
		if (i->kind == INSTRUCTION_BRANCH_UNEQUAL && compared == at->frame.end_reg &&
		    compared != REGISTER_NONE)
			(void)set_depth(&at->frame, at->frame.end_depth);
		return true;
	case INSTRUCTION_RETURN:
		group->may_return = true;
		return false;
	case INSTRUCTION_STOP:
		return false;
	default:
		if (frame_step(&at->frame, i))
			return true;
		group->is_bad = true;
		group->may_return = true;
		return false;
	}
}

static void follow_item(struct flow *f, struct flow_item at)
{
	const struct flow_span *span = flow_span_of(f, at.vaddr);
	uint8_t compared = REGISTER_NONE;
	bool is_first = true;

	while (span && at.vaddr < span->end && !f->is_over) {
		const size_t place = span->first + (at.vaddr - span->start);
		const bool is_start = f->flags[place] & FLOW_ENTRY;
		struct instruction i;
		size_t pointed;

		if (is_start && !is_first && at.vaddr != f->functions[at.owner].start)
			return;
		if (!arrive_at_place(f, place, at.owner, &at.frame, is_start))
			return;
		if (!f->budget--)
			f->is_over = true;
		i = flow_instruction(span, at.vaddr);
		pointed = i.kind == INSTRUCTION_ADDRESS ? flow_place(f, i.target) : SIZE_MAX;
		mark_instruction(f, place, i.length, at.owner);
		if (pointed != SIZE_MAX)
			f->flags[pointed] |= FLOW_POINTED;
		if (!follow_instruction(f, &at, &i, compared))
			return;
		compared = i.kind == INSTRUCTION_COMPARE_SP ? i.reg : REGISTER_NONE;
		at.vaddr += i.length;
		is_first = false;
	}
}

/* Follow all added functions. Waiting calls keep waiting. */
static void flow_follow(struct flow *f)
{
	while (f->n_items && !f->is_over)
		follow_item(f, f->items[--f->n_items]);
}

/* Go on past waiting calls whose callees may return by now. */
static bool wake_waiting_calls(struct flow *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_waits; i++) {
		const struct flow_item w = f->waits[i];

		if (!flow_group(f, w.callee)->may_return)
			f->waits[n++] = w;
		else if (w.vaddr)
			array_push(f->items, f->n_items, f->items_capacity, w);
		else
			flow_group(f, w.owner)->may_return = true;
	}
	if (n == f->n_waits)
		return false;
	f->n_waits = n;
	return true;
}

void flow_run(struct flow *f)
{
	flow_follow(f);
	for (int pass = 0; pass < MAX_PASSES && !f->is_over && wake_waiting_calls(f); pass++)
		flow_follow(f);
}

/* Begin again, with the functions at FLOW_ENTRY and FLOW_POINTED. Forgets all else. */
static void flow_again(struct flow *f)
{
	const size_t n = f->n_functions;
	struct flow_function *functions = f->functions;

	f->functions = NULL;
	f->n_functions = f->functions_capacity = 0;
	f->n_frames = f->n_items = f->n_waits = f->n_edges = 0;
	f->is_weak = f->is_late = false;
	f->budget = VISITS * f->n_places;
	for (size_t i = 0; i < n; i++) {
		const size_t place = flow_place(f, functions[i].start);

		functions[i].is_bad = !(f->flags[place] & FLOW_ENTRY);
	}
	for (size_t i = 0; i < f->n_places; i++)
		f->flags[i] &= FLOW_POINTED;
	for (size_t i = 0; i < n; i++)
		if (!functions[i].is_bad)
			flow_add(f, functions[i].start, functions[i].is_named, FLOW_ENTRY);
	free(functions);
}

/* --- jumps through pointers --- */

#define MAX_BACK 256 /* bytes: files may be made to hold us up */

/*
 * The value of @reg before @at tells where a jump to it leads. A plain load or move gives a
 * function; the sum of a table's address and its entry gives a case of a switch.
 */
static enum pointer_jump judge_register(const struct flow *flow, uint64_t at, uint8_t reg)
{
	const struct flow_span *s = flow_span_of(flow, at);
	const uint8_t *flags = &flow->flags[s->first];

	for (unsigned n = 0; !(flags[at - s->start] & FLOW_ENTRY) && at-- > s->start; n++) {
		struct instruction i;

		if (n == MAX_BACK)
			return POINTER_UNSURE;
		if (!(flags[at - s->start] & FLOW_VISITED))
			continue;
		i = flow_instruction(s, at);
		switch (i.kind) {
		case INSTRUCTION_CALL:
		case INSTRUCTION_CALL_POINTER:
			return POINTER_LEAVES;
		case INSTRUCTION_JUMP:
		case INSTRUCTION_JUMP_POINTER:
		case INSTRUCTION_RETURN:
		case INSTRUCTION_STOP:
			return POINTER_UNSURE;
		case INSTRUCTION_LOAD:
		case INSTRUCTION_MOVE:
		case INSTRUCTION_POP:
		case INSTRUCTION_ADDRESS:
			if (i.reg == reg)
				return POINTER_LEAVES;
			break;
		default:
			if (i.writes >> reg & 1)
				return POINTER_STAYS;
		}
	}
	return POINTER_LEAVES; /* an argument */
}

enum pointer_jump pointer_jump_of(const struct flow *f, uint64_t vaddr,
				  const struct instruction *jump)
{
	if (jump->is_indexed)
		return POINTER_STAYS;
	return jump->reg == REGISTER_NONE ? POINTER_LEAVES : judge_register(f, vaddr, jump->reg);
}

/* --- rows of code without entries --- */

/*
 * Functions begin at symbols and at call targets, and likely where an instruction takes an address:
 * musl's threads and stdio call functions without a symbol by pointers. The analysis follows these
 * last, and they must not contradict the others.
 *
 * It believes no code that is only jumped to. GHC's code is the reason: its stack pointer belongs
 * to another function, and it never returns.
 *
 * Behind a call of exit() in another file, execution seems to come to the next function, with a
 * frame that is not that function's. Then both contradict themselves and get no rows: by a return
 * or a tail call from this frame, or by a call with a stack pointer that is not aligned.
 */
#define LEAST_GAP 64         /* bytes of a gap; padding is shorter */
#define LEAST_BYTES 4096     /* of such gaps in a file: start-up code of every program is less */
#define LEAST_GO_BYTES 1024  /* likewise in Go's programs: cgo's own C code has 1,900 */
#define MAX_BYTES (4U << 20) /* of all such gaps; decoding takes 0.2 s then */
#define LEAST_SPAN 16
#define MAX_ROUNDS 4
#define MAX_SEEDS 8 /* rounds of functions whose addresses instructions take */
#define MAX_ROOT_STEPS 16
#define STACK_ALIGNMENT 16 /* at calls of other code, by the ABI */

/* Returns the span's size if it is at least LEAST_GAP; else 0. */
static uint64_t add_span(struct flow *f, const struct image_section *text, uint64_t start,
			 uint64_t end)
{
	if (end <= start || end - start < LEAST_SPAN)
		return 0;

	const struct flow_span span = { .start = start,
					.end = end,
					.code = text->data + (start - text->vaddr) };

	array_push(f->spans, f->n_spans, f->spans_capacity, span);
	return end - start >= LEAST_GAP ? end - start : 0;
}

/* Make spans of a gap, without the functions that Go's table has rows for, from number *@next on.
 * Returns their size. */
static uint64_t add_gap(struct flow *f, const struct image_section *text, struct code_range gap,
			const struct go_table *t, uint32_t *next)
{
	uint64_t sum = 0;

	for (; t && *next < t->n && go_function_start(t, *next) < gap.end; ++*next) {
		const uint64_t end = go_function_start(t, *next + 1);

		if (end > gap.start && go_has_steps(t, *next)) {
			sum += add_span(f, text, gap.start, go_function_start(t, *next));
			gap.start = end;
		}
		if (end > gap.end) /* the next gap may begin in this function */
			break;
	}
	return sum + add_span(f, text, gap.start, gap.end);
}

/* Make spans of all gaps. Returns the size of those of at least LEAST_GAP. */
static uint64_t find_spans(struct flow *f, const struct image_section *text,
			   const struct go_table *t)
{
	const uint64_t end = text->vaddr + text->size;
	uint64_t at = text->vaddr, sum = 0;
	uint32_t next = 0;

	for (size_t i = 0; i <= f->n_fdes && at < end; i++) {
		uint64_t to = i < f->n_fdes ? f->fdes[i].start : end;

		if (to > end)
			to = end;
		if (to > at)
			sum += add_gap(f, text, (struct code_range){ at, to }, t, &next);
		if (i < f->n_fdes && f->fdes[i].end > at)
			at = f->fdes[i].end;
	}
	return sum;
}

/* Not 0: the program has V8, whose builtins are no compiled C. */
static int add_symbol_function(void *context, const struct image_symbol *symbol)
{
	/* A function jumps from its middle to its cold part. */
	if (!strstr(symbol->name, ".cold"))
		flow_add(context, symbol->vaddr, true, FLOW_ENTRY);
	return strcmp(symbol->name, "_ZNK2v88internal7Isolate18embedded_blob_codeEv") == 0;
}

static void add_pointed(struct flow *f, const struct flow_span *s)
{
	for (uint64_t at = s->start; at < s->end && !f->is_over; at++) {
		const uint8_t flags = f->flags[s->first + (at - s->start)];

		if (!(flags & FLOW_POINTED) || flags & (FLOW_VISITED | FLOW_INSIDE))
			continue;
		flow_add(f, at, true, FLOW_POINTED);
		flow_follow(f);
	}
}

static void follow_all_functions(struct flow *f)
{
	flow_run(f);
	f->is_weak = true;
	for (int round = 0; round < MAX_SEEDS && !f->is_over; round++) {
		const size_t n = f->n_functions;

		for (size_t i = 0; i < f->n_spans; i++)
			add_pointed(f, &f->spans[i]);
		flow_run(f);
		if (f->n_functions == n)
			return;
	}
}

/* Does an entry begin at @vaddr, or is it in a section of stubs? */
static bool is_called_elsewhere(const struct flow *f, uint64_t vaddr)
{
	struct cfi_fde stubs[CFI_MAX_STUBS];
	const size_t n = cfi_find_stubs(f->im, stubs);
	size_t at;

	for (size_t i = 0; i < n; i++)
		if (vaddr >= stubs[i].start && vaddr < stubs[i].end)
			return true;
	at = array_count_below(f->fdes, f->n_fdes, sizeof(*f->fdes), vaddr);
	return at < f->n_fdes && f->fdes[at].start == vaddr;
}

/* Judge a jump of function @owner to @target, which may be another function or other code. */
static void judge_tail(struct flow *f, uint32_t owner, const struct frame *frame, uint64_t target)
{
	const size_t place = flow_place(f, target);
	struct flow_function *group = flow_group(f, owner);

	if (place == SIZE_MAX) {
		const bool is_function = is_called_elsewhere(f, target);

		group->is_proven |= is_function && frame_is_clean(frame);
		group->is_bad |=
			is_function && !frame_is_clean(frame) && frame->depth != FRAME_NOT_KNOWN;
		group->is_open = true;
	} else if (f->flags[place] & FLOW_ENTRY && frame->depth != FRAME_NOT_KNOWN) {
		if (!frame_is_clean(frame))
			group->is_bad = true;
		else
			array_push(f->edges, f->n_edges, f->edges_capacity,
				   ((struct flow_edge){ f->owner_of[place], owner }));
	}
}

static void judge_instruction(struct flow *f, const struct flow_span *s, uint64_t vaddr)
{
	const size_t place = s->first + (vaddr - s->start);
	const struct instruction i = flow_instruction(s, vaddr);
	const struct frame frame = f->frames[f->frame_of[place]];
	const uint32_t owner = f->owner_of[place];
	struct flow_function *group = flow_group(f, owner);

	switch (i.kind) {
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_POINTER:
		group->is_bad |= flow_place(f, i.target) == SIZE_MAX &&
				 frame.depth != FRAME_NOT_KNOWN && frame.depth % STACK_ALIGNMENT;
		break;
	case INSTRUCTION_RETURN:
		if (frame_is_clean(&frame))
			group->is_proven = true;
		else if (frame.depth != FRAME_NOT_KNOWN)
			group->is_bad = true;
		break;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_BRANCH_UNEQUAL:
		judge_tail(f, owner, &frame, i.target);
		break;
	default:
		break;
	}
}

/* A named function may end in calls that do not return, so that no return proves it. */
static bool is_believed(const struct flow_function *group)
{
	return !group->is_bad &&
	       (group->is_proven || (group->is_named && group->has_call && !group->is_open));
}

/*
 * Believe functions that believed code calls. Also believe code that jumps to a believed function,
 * because it returns like that one. (Edges of jumps lead backwards.)
 */
static void spread_belief(struct flow *f)
{
	bool is_new = true;

	for (int pass = 0; pass < MAX_PASSES && is_new; pass++) {
		is_new = false;
		for (size_t i = 0; i < f->n_edges; i++) {
			struct flow_function *to = flow_group(f, f->edges[i].to);

			if (to->is_proven || !is_believed(flow_group(f, f->edges[i].from)))
				continue;
			to->is_proven = true;
			is_new = true;
		}
	}
}

static void judge_all_gaps(struct flow *f)
{
	for (uint32_t i = 0; i < f->n_functions; i++)
		if (f->functions[i].is_named)
			flow_group(f, i)->is_named = true;
	for (size_t i = 0; i < f->n_spans; i++)
		for (uint64_t at = f->spans[i].start; at < f->spans[i].end; at++)
			if (f->flags[f->spans[i].first + (at - f->spans[i].start)] & FLOW_VISITED)
				judge_instruction(f, &f->spans[i], at);
	spread_belief(f);
}

/* Add the function that a program's first code calls. It may have no symbol, and its only caller
 * may have an entry. */
static void add_called_by_root(struct flow *f)
{
	uint64_t at = image_entry(f->im);

	for (int n = 0; n < MAX_ROOT_STEPS; n++) {
		const struct slice code = image_code(f->im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if (i.kind == INSTRUCTION_CALL)
			flow_add(f, i.target, true, FLOW_ENTRY);
		if (i.kind == INSTRUCTION_CALL || i.kind == INSTRUCTION_BAD)
			return;
		at += i.length;
	}
}

/*
 * Note each address that a plain disassembly of all code calls or takes. It goes on in cases of
 * switches, too, which the analysis does not follow.
 */
static void point_at_called(struct flow *f, const struct image_section *text)
{
	const uint64_t n = text->size < MAX_BYTES ? text->size : MAX_BYTES;
	struct instruction i;

	for (uint64_t at = 0; at < n; at += i.length ? i.length : 1) {
		i = instruction_at(text->data + at, text->size - at, text->vaddr + at);

		const bool is_pointer = i.kind == INSTRUCTION_CALL || i.kind == INSTRUCTION_ADDRESS;
		const size_t place = is_pointer ? flow_place(f, i.target) : SIZE_MAX;

		if (place != SIZE_MAX)
			f->flags[place] |= FLOW_POINTED;
	}
}

static bool analyse_image(struct flow *f, const struct image_section *text)
{
	flow_init(f);
	if (image_each_function(f->im, add_symbol_function, f) != 0)
		return false;
	add_called_by_root(f);
	if (f->n_places > text->size / 2) /* else entries are the rule, and cover the callees */
		point_at_called(f, text);
	for (int round = 0; round < MAX_ROUNDS && !f->is_over; round++) {
		if (round)
			flow_again(f);
		follow_all_functions(f);
		if (!f->is_late)
			break;
	}
	return !f->is_over;
}

void derive(struct image *im, const struct go_table *go, const struct cfi_fde *fdes, size_t n,
	    struct flow *ret)
{
	struct image_section text;
	const uint64_t least = go && go->n ? LEAST_GO_BYTES : LEAST_BYTES;
	uint64_t bytes;

	*ret = (struct flow){ .im = im, .fdes = fdes, .n_fdes = n };
	/* The section's flags may be wrong, so check that a segment loads it as code. */
	if (!ARCH_CALL_PUSHES || !image_section(im, ".text", &text) ||
	    image_code(im, text.vaddr, text.size).size != text.size)
		return;
	bytes = find_spans(ret, &text, go);
	if (bytes >= least && bytes <= MAX_BYTES && analyse_image(ret, &text))
		judge_all_gaps(ret);
	else
		flow_fini(ret);
}

static int visit_span_rows(struct flow *f, const struct flow_span *s, uint64_t to, cfi_visit *visit,
			   void *context)
{
	const uint64_t end = s->end < to ? s->end : to;
	struct cfi_row row = { .kind = CFI_BAD };
	int err = 0;

	for (uint64_t at = s->start; at < end && !err; at++) {
		const size_t place = s->first + (at - s->start);
		const bool is_seen = f->flags[place] & FLOW_VISITED;

		if (!is_seen && (f->flags[place] & FLOW_INSIDE || row.kind == CFI_GAP))
			continue;
		row = (struct cfi_row){ .vaddr = at, .kind = CFI_GAP };
		if (is_seen && is_believed(flow_group(f, f->owner_of[place])))
			row = frame_row(&f->frames[f->frame_of[place]], at);
		err = visit(context, &row);
	}
	row = (struct cfi_row){ .vaddr = end, .kind = CFI_GAP };
	return err || end == to ? err : visit(context, &row);
}

int derived_rows_between(struct flow *f, uint64_t from, uint64_t to, cfi_visit *visit,
			 void *context)
{
	const struct cfi_row gap = { .vaddr = from, .kind = CFI_GAP };
	size_t i = flow_next_span(f, from);
	int err = 0;

	if (i == f->n_spans || f->spans[i].start > from)
		err = visit(context, &gap);
	for (; i < f->n_spans && f->spans[i].start < to && !err; i++)
		err = visit_span_rows(f, &f->spans[i], to, visit, context);
	return err;
}
