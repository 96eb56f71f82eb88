// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
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
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/private.h"

#define LEAST_GAP 64         /* bytes of a gap; padding is shorter */
#define LEAST_BYTES 4096     /* of such gaps in a file: start-up code of every program is less */
#define LEAST_GO_BYTES 1024  /* likewise in Go's programs: cgo's own C code has 1,900 */
#define MAX_BYTES (4U << 20) /* of all such gaps; decoding takes 0.2 s then */
#define LEAST_SPAN 16
#define MAX_ROUNDS 4
#define MAX_SEEDS 8 /* rounds of functions whose addresses instructions take */
#define MAX_PASSES 100
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

struct go_place {
	const struct go_table *table;
	uint32_t next; /* all functions before this one end before the next gap */
};

/* Make spans of a gap, without the functions that Go's table has rows for. Returns their size. */
static uint64_t add_gap(struct flow *f, const struct image_section *text, struct code_range gap,
			struct go_place *go)
{
	const struct go_table *t = go->table;
	uint64_t sum = 0;

	for (; t && go->next < t->n && go_function_start(t, go->next) < gap.end; go->next++) {
		const uint64_t end = go_function_start(t, go->next + 1);

		if (end > gap.start && go_has_steps(t, go->next)) {
			sum += add_span(f, text, gap.start, go_function_start(t, go->next));
			gap.start = end;
		}
		if (end > gap.end) /* the next gap may begin in this function */
			break;
	}
	return sum + add_span(f, text, gap.start, gap.end);
}

/* Make spans of all gaps. Returns the size of those of at least LEAST_GAP. */
static uint64_t find_spans(struct flow *f, const struct image_section *text,
			   const struct go_table *t, const struct cfi_fde *fdes, size_t n)
{
	const uint64_t end = text->vaddr + text->size;
	uint64_t at = text->vaddr, sum = 0;
	struct go_place go = { .table = t };

	for (size_t i = 0; i <= n && at < end; i++) {
		uint64_t to = i < n ? fdes[i].start : end;

		if (to > end)
			to = end;
		if (to > at)
			sum += add_gap(f, text, (struct code_range){ at, to }, &go);
		if (i < n && fdes[i].end > at)
			at = fdes[i].end;
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

/* The sorted entries of @im. */
struct entries {
	const struct image *im;
	const struct cfi_fde *fdes;
	size_t n;
};

/* Does an entry begin at @vaddr, or is it in a section of stubs? */
static bool is_called_elsewhere(const struct entries *e, uint64_t vaddr)
{
	struct cfi_fde stubs[CFI_MAX_STUBS];
	const size_t n = cfi_find_stubs(e->im, stubs);
	size_t at;

	for (size_t i = 0; i < n; i++)
		if (vaddr >= stubs[i].start && vaddr < stubs[i].end)
			return true;
	at = array_count_below(e->fdes, e->n, sizeof(*e->fdes), vaddr);
	return at < e->n && e->fdes[at].start == vaddr;
}

/* Judge a jump of function @owner to @target, which may be another function or other code. */
static void judge_tail(struct flow *f, const struct entries *e, uint32_t owner,
		       const struct frame *frame, uint64_t target)
{
	const size_t place = flow_place(f, target);
	struct flow_function *group = flow_group(f, owner);

	if (place == SIZE_MAX) {
		const bool is_function = is_called_elsewhere(e, target);

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

static void judge_instruction(struct flow *f, const struct entries *e, const struct flow_span *s,
			      uint64_t vaddr)
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
		judge_tail(f, e, owner, &frame, i.target);
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

static void judge_all_gaps(struct flow *f, const struct entries *e)
{
	for (uint32_t i = 0; i < f->n_functions; i++)
		if (f->functions[i].is_named)
			flow_group(f, i)->is_named = true;
	for (size_t i = 0; i < f->n_spans; i++)
		for (uint64_t at = f->spans[i].start; at < f->spans[i].end; at++)
			if (f->flags[f->spans[i].first + (at - f->spans[i].start)] & FLOW_VISITED)
				judge_instruction(f, e, &f->spans[i], at);
	spread_belief(f);
}

/* Add the function that a program's first code calls. It may have no symbol, and its only caller
 * may have an entry. */
static void add_called_by_root(struct flow *f, const struct image *im)
{
	uint64_t at = image_entry(im);

	for (int n = 0; n < MAX_ROOT_STEPS; n++) {
		const struct slice code = image_code(im, at, ARCH_INSTRUCTION_BYTES);
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

static bool analyse_image(struct flow *f, struct image *im, const struct image_section *text)
{
	flow_init(f);
	if (image_each_function(im, add_symbol_function, f) != 0)
		return false;
	add_called_by_root(f, im);
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

	*ret = (struct flow){};
	/* The section's flags may be wrong, so check that a segment loads it as code. */
	if (!ARCH_CALL_PUSHES || !image_section(im, ".text", &text) ||
	    image_code(im, text.vaddr, text.size).size != text.size)
		return;
	bytes = find_spans(ret, &text, go, fdes, n);
	if (bytes >= least && bytes <= MAX_BYTES && analyse_image(ret, im, &text))
		judge_all_gaps(ret, &(struct entries){ im, fdes, n });
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
