// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The analysis of unwind/flow.c follows execution from the function's entry. It does not reach
 *
 *	landing pads, to which exceptions come      .gcc_except_table has them
 *	cases of a switch                           they are the rest of the function's code
 *	Go's code for a recovered panic             likewise
 *	f.cold, until a jump leads there            then we begin again, with this part
 *
 * so we analyse these parts, too, each with the frame of the call or jump that leads there. Calls
 * of other functions are assumed to return.
 *
 * A file without .symtab has no name for a cold part. But compilers jump to other functions
 * without a condition and with the frame as at the entry. So any other jump leads to a part.
 */
#include "unwind/exits.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "elf/frames.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/private.h"

/* --- jumps into the middle of functions --- */

/*
 * arch_each_jump() tries every byte of the code, so it also finds bytes within other instructions.
 * Of those that lead into a wanted function, few are left. Unless the caller is cautious, these
 * count if an instruction begins there: the function around them is decoded from its beginning.
 */
#define MAX_RANGES 64

/* Decoding takes some 50 ns a byte, and files may be made to hold us up. */
#define MAX_DECODED_BYTES ((uint64_t)64 << 20)

struct search {
	struct image *im;
	const struct code_range *functions; /* ascending, by both ends */
	size_t n;
	bool is_cautious;
	uint64_t n_decoded;
	struct middles *ret;
};

uint64_t function_end_of(struct image *im, uint64_t vaddr)
{
	struct image_symbol symbol;
	struct image_frame frame;

	if (image_function_at(im, vaddr, &symbol) && symbol.vaddr == vaddr && symbol.size)
		return vaddr + symbol.size;
	return image_frame_at(im, vaddr, &frame) && frame.start == vaddr ? frame.end : 0;
}

/* The wanted function whose middle is at @vaddr. NULL: there is none. */
static const struct code_range *find_function_around(const struct search *s, uint64_t vaddr)
{
	const size_t n = array_count_below(s->functions, s->n, sizeof(*s->functions), vaddr);

	return n && vaddr < s->functions[n - 1].end ? &s->functions[n - 1] : NULL;
}

/* The first address of the code that @vaddr lies in. 0: neither symbol nor .eh_frame covers it. */
static uint64_t find_decodable_start(struct image *im, uint64_t vaddr)
{
	struct image_symbol symbol;
	struct image_frame frame;

	if (image_frame_at(im, vaddr, &frame))
		return frame.start;
	return image_function_at(im, vaddr, &symbol) ? symbol.vaddr : 0;
}

static bool is_jump_to(const struct instruction *i, uint64_t to)
{
	switch (i->kind) {
	case INSTRUCTION_CALL:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_BRANCH_UNEQUAL:
		return i->target == to;
	default:
		return false;
	}
}

/* Does an instruction begin at @from that may lead to @to? Where we cannot tell: yes. */
static bool leads_to(struct search *s, uint64_t from, uint64_t to)
{
	uint64_t at = find_decodable_start(s->im, from);

	if (!at)
		return false;
	if (from - at > MAX_DECODED_BYTES - s->n_decoded)
		return true;
	s->n_decoded += from - at;
	for (;;) {
		const struct slice code = image_code(s->im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);
		const uint64_t length = i.length ? i.length : 1;

		if (from < at + length) /* a prefix may come first */
			return is_jump_to(&i, to);
		at += length;
	}
}

static void note_jump(void *context, uint64_t from, uint64_t to)
{
	struct search *s = context;
	const struct code_range *function = find_function_around(s, to);
	const struct middle jump = { to, from };

	if (!function ||
	    (from >= function->start && from < (s->is_cautious ? to : function->end)) ||
	    (!s->is_cautious && !leads_to(s, from, to)))
		return;
	array_push(s->ret->jumps, s->ret->n, s->ret->capacity, jump);
}

void middles_find(struct image *im, struct code_range *functions, size_t n, bool is_cautious,
		  struct middles *ret)
{
	struct code_range ranges[MAX_RANGES];
	struct search s = {
		.im = im, .functions = functions, .n = n, .is_cautious = is_cautious, .ret = ret
	};
	size_t n_ranges;

	*ret = (struct middles){};
	if (!n)
		return;
	qsort(functions, n, sizeof(*functions), array_compare_u64);
	for (size_t i = 1; i < n; i++)
		if (functions[i].end < functions[i - 1].end)
			functions[i].end = functions[i - 1].end;
	n_ranges = image_code_ranges(im, ranges, MAX_RANGES);
	for (size_t i = 0; i < n_ranges; i++) {
		const struct slice code =
			image_code(im, ranges[i].start, ranges[i].end - ranges[i].start);

		arch_each_jump(code.data, code.size, ranges[i].start, note_jump, &s);
	}
	if (ret->n)
		qsort(ret->jumps, ret->n, sizeof(*ret->jumps), array_compare_u64);
}

void middles_fini(struct middles *m)
{
	free(m->jumps);
	*m = (struct middles){};
}

size_t middles_from(const struct middles *m, uint64_t vaddr)
{
	return array_count_below(m->jumps, m->n, sizeof(*m->jumps), vaddr);
}

/* --- the parts of a function --- */

#define MAX_PARTS 16
#define MAX_BYTES ((size_t)4 << 20)    /* of a function; decoding takes 0.2 s then */
#define MAX_WORK ((uint64_t)128 << 20) /* bytes that we look at, in all passes; 6 s at most */

struct finding {
	struct image *im;
	const struct middles *middles;
	uint64_t entry;
	bool is_go;
	struct flow_span parts[MAX_PARTS]; /* ascending; one begins with the entry */
	size_t n_parts;
	size_t n_bytes;
	uint64_t n_worked; /* bytes looked at, up to MAX_WORK */
	struct flow flow;
	uint64_t open;       /* a jump through a pointer that may stay in the function; 0: none */
	bool may_open_leave; /* ... or leave it */
	bool is_gap_found;   /* there is code that only jumps through a pointer lead to */
	bool is_gap_unsure;  /* ... and none of these surely stays in the function */
	bool is_part_added;  /* begin again */
	struct exits *ret;
};

void exits_fini(struct exits *exits)
{
	free(exits->places);
	*exits = (struct exits){};
}

static void doubt_exits(struct finding *f, const char *why, uint64_t at)
{
	if (f->ret->doubt)
		return;
	f->ret->doubt = why;
	f->ret->doubt_at = at;
}

/* Look at @n more bytes? The number of passes depends on the file, which may be made to hang us. */
static bool may_work(struct finding *f, uint64_t n)
{
	if (n > MAX_WORK - f->n_worked) {
		doubt_exits(f, "it is too large", f->entry);
		return false;
	}
	f->n_worked += n;
	return true;
}

/*
 * Is the stack as at the entry? The registers need not be, because assembly of Go does not preserve
 * them.
 */
static bool is_clean(const struct frame *frame)
{
	return frame->depth == FRAME_ENTRY_DEPTH;
}

static bool may_be_clean(const struct frame *frame)
{
	return is_clean(frame) || frame->depth == FRAME_NOT_KNOWN;
}

static bool is_in_parts(const struct finding *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->n_parts; i++)
		if (vaddr >= f->parts[i].start && vaddr < f->parts[i].end)
			return true;
	return false;
}

static bool add_part(struct finding *f, uint64_t start, uint64_t end)
{
	const size_t n = end > start && end - start <= MAX_BYTES - f->n_bytes ? end - start : 0;
	const struct slice code = image_code(f->im, start, n);
	size_t at = f->n_parts;

	for (size_t i = 0; i < f->n_parts; i++)
		if (start < f->parts[i].end && end > f->parts[i].start)
			return false;
	if (!n || code.size != n || f->n_parts == MAX_PARTS)
		return false;
	for (; at > 0 && f->parts[at - 1].start > start; at--)
		f->parts[at] = f->parts[at - 1];
	f->parts[at] = (struct flow_span){ .start = start, .end = end, .code = code.data };
	f->n_parts++;
	f->n_bytes += n;
	return true;
}

static void begin_flow(struct finding *f)
{
	struct flow *flow = &f->flow;

	for (size_t i = 0; i < f->n_parts; i++)
		array_push(flow->spans, flow->n_spans, flow->spans_capacity, f->parts[i]);
	flow_init(flow);
	flow_add(flow, f->entry, true, FLOW_ENTRY);
	/* The function's own calls of itself return, too, though their returns may be in a case. */
	flow_group(flow, 0)->may_return = true;
	flow_run(flow);
}

/* --- instructions that execution reaches --- */

struct visited {
	uint64_t vaddr;
	struct instruction is;
	struct frame frame;
	uint32_t owner;
};

typedef void visit_instruction(struct finding *f, const struct visited *v);

/* Call @visit for each such instruction. If that takes too much work, note a doubt. */
static void each_visited(struct finding *f, visit_instruction *visit)
{
	const struct flow *flow = &f->flow;

	if (!may_work(f, flow->n_places))
		return;
	for (size_t i = 0; i < flow->n_spans; i++) {
		const struct flow_span *s = &flow->spans[i];

		for (uint64_t at = s->start; at < s->end; at++) {
			const size_t place = s->first + (at - s->start);

			if (!(flow->flags[place] & FLOW_VISITED))
				continue;

			const struct visited v = { .vaddr = at,
						   .is = flow_instruction(s, at),
						   .frame = flow->frames[flow->frame_of[place]],
						   .owner = flow->owner_of[place] };

			visit(f, &v);
		}
	}
}

static bool is_branch(const struct instruction *i)
{
	return i->kind == INSTRUCTION_BRANCH || i->kind == INSTRUCTION_BRANCH_UNEQUAL;
}

/* --- landing pads --- */

static void take_landing_pad(void *context, uint64_t from, uint64_t to, uint64_t pad)
{
	struct finding *f = context;
	const struct flow *flow = &f->flow;
	const size_t at = flow_place(flow, pad);
	struct image_frame frame;

	if (at == SIZE_MAX) {
		if (image_frame_at(f->im, pad, &frame) && add_part(f, frame.start, frame.end))
			f->is_part_added = true;
		else
			doubt_exits(f, "an exception lands in other code", pad);
		return;
	}
	if (flow->flags[at] & FLOW_VISITED || !may_work(f, 1))
		return;
	for (uint64_t call = from; call < to; call++) {
		const size_t place = flow_place(flow, call);

		if (place == SIZE_MAX || !may_work(f, 1))
			return;
		if (!(flow->flags[place] & FLOW_VISITED))
			continue;
		flow_enter(&f->flow, pad, flow->owner_of[place],
			   &flow->frames[flow->frame_of[place]]);
		return;
	}
}

static void follow_landing_pads(struct finding *f)
{
	for (size_t i = 0; i < f->n_parts && !f->ret->doubt; i++) {
		struct image_frame frame;

		if (!image_frame_at(f->im, f->parts[i].start, &frame))
			continue;
		if (frame.is_uncertain ||
		    (frame.pads && !image_each_landing_pad(f->im, &frame, take_landing_pad, f)))
			doubt_exits(f, "its table of landing pads cannot be read", frame.start);
	}
}

/* --- code that only unknown jumps lead to --- */

/* With something on the stack, a jump stays in the function. */
static void note_open_jump(struct finding *f, const struct visited *v)
{
	bool may_leave;

	if (v->is.kind != INSTRUCTION_JUMP_POINTER)
		return;
	may_leave = may_be_clean(&v->frame) &&
		    pointer_jump_of(&f->flow, v->vaddr, &v->is) != POINTER_STAYS;
	if (!f->open || !may_leave) {
		f->open = v->vaddr;
		f->may_open_leave = may_leave;
	}
}

/* The first instruction of a part that execution has not reached, behind padding. 0: none. Not if
 * it has not reached the part's beginning: see check_parts(). */
static uint64_t find_gap(const struct flow *flow, const struct flow_span *s)
{
	for (uint64_t at = s->start; at < s->end && flow->flags[s->first] & FLOW_VISITED;) {
		struct instruction i;

		if (flow->flags[s->first + (at - s->start)] & (FLOW_VISITED | FLOW_INSIDE)) {
			at++;
			continue;
		}
		i = flow_instruction(s, at);
		if (i.kind != INSTRUCTION_NOP && i.kind != INSTRUCTION_STOP)
			return at;
		at += i.length ? i.length : 1;
	}
	return 0;
}

/* Go on in code that only an unknown jump leads to. Returns whether there is any. */
static bool follow_gap(struct finding *f)
{
	uint64_t gap = 0;
	struct frame frame = { .depth = FRAME_NOT_KNOWN,
			       .fp = FRAME_OTHER,
			       .third = FRAME_OTHER,
			       .end_reg = REGISTER_NONE };

	for (size_t i = 0; i < f->flow.n_spans && !gap; i++)
		gap = find_gap(&f->flow, &f->flow.spans[i]);
	each_visited(f, note_open_jump);
	if (!gap || (!f->open && !f->is_go))
		return false;
	if (f->open && !f->is_go)
		frame = f->flow.frames[f->flow.frame_of[flow_place(&f->flow, f->open)]];
	f->is_gap_found = true;
	f->is_gap_unsure |= f->may_open_leave;
	flow_enter(&f->flow, gap, 0, &frame);
	return true;
}

/* --- cold parts --- */

/* Does code of @range jump into the function? Not if add_part() would refuse it. */
static bool jumps_back(struct finding *f, const struct image_frame *range)
{
	const uint64_t n_range = range->end - range->start;

	if (n_range > MAX_BYTES - f->n_bytes || !may_work(f, n_range))
		return false;
	for (uint64_t at = range->start; at < range->end;) {
		const struct slice code = image_code(f->im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if ((i.kind == INSTRUCTION_JUMP || is_branch(&i)) && i.target != f->entry &&
		    is_in_parts(f, i.target))
			return true;
		at += i.length ? i.length : 1;
	}
	return false;
}

/* If the jump leads to a part of the function, add the part. */
static void find_part(struct finding *f, const struct visited *v)
{
	const uint64_t to = v->is.target;
	struct image_symbol symbol;
	struct image_frame frame;

	if ((v->is.kind != INSTRUCTION_JUMP && !is_branch(&v->is)) || is_in_parts(f, to))
		return;
	if (image_function_at(f->im, to, &symbol)) {
		if (strstr(symbol.name, ".cold"))
			f->is_part_added |= add_part(f, symbol.vaddr, symbol.vaddr + symbol.size);
		return;
	}
	if (!image_frame_at(f->im, to, &frame))
		return;
	if (v->is.kind != INSTRUCTION_JUMP || !may_be_clean(&v->frame) || to != frame.start ||
	    jumps_back(f, &frame)) /* else it may be a tail call */
		f->is_part_added |= add_part(f, frame.start, frame.end);
}

/*
 * Has execution reached the beginning of each part? If not, another function begins there, in a
 * file without .symtab. Both share code: mempcpy jumps into the middle of memmove.
 */
static void check_parts(struct finding *f)
{
	const struct flow *flow = &f->flow;

	for (size_t i = 0; i < f->n_parts; i++)
		if (!(flow->flags[flow_place(flow, f->parts[i].start)] & FLOW_VISITED))
			doubt_exits(f, "it shares code with another function", f->parts[i].start);
}

/* Does code jump into the function that is no part of it? Then that code has the same exits. */
static void check_middles(struct finding *f)
{
	const struct middles *m = f->middles;

	for (size_t i = 0; i < f->n_parts; i++)
		for (size_t j = middles_from(m, f->parts[i].start);
		     j < m->n && m->jumps[j].to < f->parts[i].end; j++)
			if (m->jumps[j].to != f->entry && !is_in_parts(f, m->jumps[j].from))
				doubt_exits(f, "another function jumps into it", m->jumps[j].from);
}

/* --- judgement --- */

static void note_exit(struct finding *f, const struct visited *v)
{
	const struct function_exit found = { v->vaddr, v->is.kind != INSTRUCTION_RETURN };

	array_push(f->ret->places, f->ret->n, f->ret->capacity, found);
}

static void judge_jump(struct finding *f, const struct visited *v)
{
	if (is_in_parts(f, v->is.target))
		return;
	if (is_clean(&v->frame) ||
	    (v->frame.depth == FRAME_NOT_KNOWN && function_end_of(f->im, v->is.target)))
		note_exit(f, v);
	else
		doubt_exits(f, "it jumps into other code with a frame on the stack", v->vaddr);
}

/* A switch has cases that only its jump leads to. Without such code, a jump that looks like a
 * switch may lead to another function. */
static void judge_pointer_jump(struct finding *f, const struct visited *v)
{
	const bool stays = pointer_jump_of(&f->flow, v->vaddr, &v->is) == POINTER_STAYS;

	if (!may_be_clean(&v->frame) || (stays && (f->is_gap_found || f->is_go)))
		return;
	if (stays || (f->is_gap_unsure && !f->is_go))
		doubt_exits(f, "it may jump within itself or to another function", v->vaddr);
	else if (is_clean(&v->frame))
		note_exit(f, v);
	else
		doubt_exits(f, "its frame is not known at a jump through a pointer", v->vaddr);
}

/* Does execution go on behind @v? Not behind a call at the end of the code: it does not return. */
static bool goes_on(const struct instruction *i)
{
	switch (i->kind) {
	case INSTRUCTION_RETURN:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_JUMP_POINTER:
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_POINTER:
	case INSTRUCTION_STOP:
	case INSTRUCTION_BAD:
		return false;
	default:
		return true;
	}
}

static void judge_visited(struct finding *f, const struct visited *v)
{
	if (goes_on(&v->is) && !is_in_parts(f, v->vaddr + v->is.length))
		doubt_exits(f, "it goes on into other code", v->vaddr);
	if (v->owner != 0) {
		/* A piece of assembly that the function calls. */
		if (flow_group(&f->flow, v->owner) == flow_group(&f->flow, 0))
			doubt_exits(f, "it shares code with a function within it", v->vaddr);
		return;
	}
	switch (v->is.kind) {
	case INSTRUCTION_RETURN:
		if (is_clean(&v->frame) || (v->frame.depth == FRAME_NOT_KNOWN && f->is_go))
			note_exit(f, v);
		else
			doubt_exits(f, "its frame is not known at a return", v->vaddr);
		break;
	case INSTRUCTION_JUMP:
		judge_jump(f, v);
		break;
	case INSTRUCTION_JUMP_POINTER:
		judge_pointer_jump(f, v);
		break;
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_BRANCH_UNEQUAL:
		if (!is_in_parts(f, v->is.target))
			doubt_exits(f, "it jumps to another function by a condition", v->vaddr);
		break;
	default:
		break;
	}
}

/* --- the whole function --- */

/* Follow all of the function, with the parts known so far. */
static void follow_function(struct finding *f)
{
	begin_flow(f);
	do {
		follow_landing_pads(f);
		flow_run(&f->flow);
		f->open = 0;
	} while (!f->is_part_added && !f->ret->doubt && !f->flow.is_over && follow_gap(f));
	if (!f->is_part_added)
		each_visited(f, find_part);
}

static void find_all(struct finding *f)
{
	for (size_t round = 0; round < MAX_PARTS && !f->ret->doubt; round++) {
		f->is_part_added = f->is_gap_found = f->is_gap_unsure = false;
		follow_function(f);
		if (!f->is_part_added)
			break;
		flow_fini(&f->flow);
	}
	if (f->is_part_added)
		doubt_exits(f, "it has too many parts", f->entry);
	else if (f->flow.is_over)
		doubt_exits(f, "it is too large", f->entry);
	else if (!f->ret->doubt && flow_group(&f->flow, 0)->is_bad)
		doubt_exits(f, "its frame cannot be followed", f->entry);
	if (!f->ret->doubt)
		check_parts(f);
	if (!f->ret->doubt)
		check_middles(f);
	if (!f->ret->doubt)
		each_visited(f, judge_visited);
}

void exits_find(struct image *im, const struct go_table *go, const struct middles *middles,
		uint64_t vaddr, struct exits *ret)
{
	struct finding f = { .im = im, .middles = middles, .entry = vaddr, .ret = ret };
	struct go_function function;

	f.is_go = go && go_function_from(go, vaddr, &function) && function.steps &&
		  !(function.flags & (GO_ASM | GO_SP_WRITE));

	*ret = (struct exits){};
	if (!ARCH_CALL_PUSHES)
		doubt_exits(&f, "its instructions are not decoded on " ARCH_NAME, vaddr);
	else if (!add_part(&f, vaddr, function_end_of(im, vaddr)))
		doubt_exits(&f, "its end is not known", vaddr);
	else
		find_all(&f);
	flow_fini(&f.flow);
	if (ret->doubt)
		ret->n = 0;
}
