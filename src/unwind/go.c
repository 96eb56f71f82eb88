// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Go's table has the distance that the stack pointer has moved, for each place of a function. The
 * architecture turns it into a row. In compiled code, the row also has the caller's frame pointer,
 * from a frame's beginning to its end. Functions in assembly may save it in the same way, or move
 * the stack pointer and leave the frame pointer alone. Their instructions tell.
 *
 * Functions that switch stacks get a step by frame pointer, which leads from systemstack() and
 * asmcgocall() to their caller's caller. But mcall() and morestack() never come back: the goroutine
 * may run elsewhere by then, and its stack may have any contents. So the walk ends there. It also
 * ends in the thread that clone() makes, and in functions that the table marks as the first of a
 * stack. From clone()'s system call on, its result tells parent and child apart.
 */
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "elf/image.h"
#include "unwind/private.h"

/* Visits rows. The last row waits, because another one may replace it at the same address. */
struct giver {
	const struct cfi_row *otherwise;
	struct cfi_row last;
	uint64_t to;
	cfi_visit *visit;
	void *context;
};

bool go_rows_of(const struct image *im, struct go_rows *ret)
{
	*ret = (struct go_rows){ .im = im };
	return go_table_of(im, &ret->table);
}

/* Functions of Go's runtime that are known by name. */
enum special {
	NOT_SPECIAL,
	IS_SIGNAL_HANDLER, /* the kernel calls it, from a signal frame; for Go it is outermost */
	/*
	 * Signal handlers return to it, with the stack pointer at the kernel's frame. Nobody calls
	 * it, so its first byte is a return address, which look-ups search at the byte before.
	 */
	IS_SIGNAL_RETURN,
	/*
	 * Signal handlers make it look as if the interrupted code had called it. asyncPreempt()
	 * lets other goroutines run; sigpanic() handles a read of memory that is not mapped.
	 */
	IS_PUSHED,
	SWITCHES_STACK, /* for good */
	IS_CLONE,       /* the new thread switches to another stack for good */
};

static enum special special_of(const struct go_function *f)
{
	static const struct {
		const char *name;
		enum special is;
	} specials[] = {
		{ "sigtramp", IS_SIGNAL_HANDLER }, { "cgoSigtramp", IS_SIGNAL_HANDLER },
		{ "sigreturn", IS_SIGNAL_RETURN }, { "sigreturn__sigaction", IS_SIGNAL_RETURN },
		{ "asyncPreempt", IS_PUSHED },     { "sigpanic", IS_PUSHED },
		{ "sigpanic0", IS_PUSHED },        { "mcall", SWITCHES_STACK },
		{ "morestack", SWITCHES_STACK },   { "clone", IS_CLONE },
	};

	if (strncmp(f->name, "runtime.", 8) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(specials); i++)
			if (strcmp(f->name + 8, specials[i].name) == 0)
				return specials[i].is;
	return NOT_SPECIAL;
}

static bool is_first_of_go(const struct go_rows *r, const struct go_function *f)
{
	return f->start == image_entry(r->im) || strcmp(f->name, ARCH_GO_START) == 0 ||
	       (f->flags & GO_TOP_FRAME && special_of(f) != IS_SIGNAL_HANDLER);
}

#define MOST_SEARCHED 256 /* bytes; runtime.clone has 150 */

/* The first @pattern in @f before @end. 0: there is none. */
static uint64_t find_in_function(const struct image *im, const struct go_function *f, uint64_t end,
				 const struct arch_bytes *pattern)
{
	const uint64_t n = end - f->start < MOST_SEARCHED ? end - f->start : MOST_SEARCHED;
	const struct slice code = image_code(im, f->start, n);
	const uint8_t *at = memmem(code.data, code.size, pattern->data, pattern->size);

	return at ? f->start + (uint64_t)(at - code.data) : 0;
}

/* The address where @f switches to another stack for good. 0: it does not. */
static uint64_t leaves_at(const struct image *im, const struct go_function *f)
{
	if (special_of(f) == SWITCHES_STACK && f->end - f->start > 1)
		return f->start + 1; /* the exact place is not known; it is not at the beginning */
	return special_of(f) == IS_CLONE ? find_in_function(im, f, f->end, &arch_go_switch) : 0;
}

static int visit_previous_row(struct giver *g, const struct cfi_row *row)
{
	const uint64_t from = g->last.vaddr;
	int err = 0;

	if (row->vaddr > from)
		err = g->visit(g->context, &g->last);
	g->last = *row;
	if (g->last.vaddr < from)
		g->last.vaddr = from;
	return err;
}

/* Visit the row that holds for code outside of Go's table. */
static int visit_row_outside(struct giver *g, uint64_t vaddr)
{
	struct cfi_row row = *g->otherwise;

	row.vaddr = vaddr;
	return vaddr < g->to ? visit_previous_row(g, &row) : 0;
}

static struct cfi_row first_row_at(uint64_t vaddr)
{
	struct cfi_row row = arch_go_row(vaddr, 0, false);

	row.pc = (struct cfi_value){ .how = CFI_UNDEFINED };
	return row;
}

/* Has the instruction before @vaddr moved the return address to a register? Then set row->pc. */
static bool is_popped(const struct image *im, uint64_t vaddr, struct cfi_row *row)
{
	const struct slice code = image_code(im, vaddr - ARCH_GO_POP_BYTES, ARCH_GO_POP_BYTES);

	return code.size == ARCH_GO_POP_BYTES && arch_go_pops_return(code.data, row);
}

/* Does the code around @vaddr save the frame pointer? */
static bool saves_fp(const struct image *im, uint64_t vaddr)
{
	const struct slice code = image_code(im, vaddr - ARCH_GO_SAVE_BEFORE, ARCH_GO_SAVE_BYTES);

	return code.size == ARCH_GO_SAVE_BYTES && arch_go_saves_fp(code.data);
}

static int visit_step_rows(const struct go_rows *r, const struct go_function *f, struct giver *g)
{
	const bool is_compiled = !(f->flags & GO_ASM);
	struct go_steps s = go_steps_of(&r->table, f);
	bool is_framed = is_compiled, is_moved = false;
	const bool is_signal = special_of(f) == IS_PUSHED;
	int err = 0;

	while (!err && go_next_step(&s)) {
		struct cfi_row row;

		if (s.delta > 0 && !is_moved && !is_compiled)
			is_framed = saves_fp(r->im, s.start);
		is_moved |= s.delta > 0;
		row = arch_go_row(s.start, s.delta, s.delta > 0 && is_framed);
		row.is_signal = is_signal;
		if (s.delta % 8 || (s.delta < 0 && !is_popped(r->im, s.start, &row)))
			row.kind = CFI_FRAMES;
		err = visit_previous_row(g, &row);
	}
	return err;
}

/* Visit the rows of a function that switches stacks for good at @leaves. */
static int visit_leaver_rows(const struct go_rows *r, const struct go_function *f, uint64_t leaves,
			     struct giver *g)
{
	/* The system call of clone(), from which two threads return. */
	const uint64_t clones = special_of(f) == IS_CLONE
					? find_in_function(r->im, f, leaves, &arch_go_system_call)
					: 0;
	struct cfi_row row = arch_go_row(f->start, 0, false);
	int err = visit_previous_row(g, &row);

	row.vaddr = clones;
	row.is_cloned = true;
	if (!err && clones)
		err = visit_previous_row(g, &row);
	row = first_row_at(leaves);
	return err ? err : visit_previous_row(g, &row);
}

static int visit_go_rows(const struct go_rows *r, const struct go_function *f, struct giver *g)
{
	const uint64_t leaves = leaves_at(r->im, f);
	const enum special is = special_of(f);
	struct cfi_row row = { .vaddr = f->start, .kind = CFI_FRAMES };

	if (leaves)
		return visit_leaver_rows(r, f, leaves, g);
	if (is == IS_SIGNAL_RETURN)
		row = arch_go_signal_row(f->start - 1);
	else if (is_first_of_go(r, f))
		row = first_row_at(f->start);
	return row.kind == CFI_FRAMES && (!(f->flags & GO_SP_WRITE) || is == IS_PUSHED)
		       ? visit_step_rows(r, f, g)
		       : visit_previous_row(g, &row);
}

/* Visit the rows of function @i. Padding after it keeps its last row if no entry covers that. */
static int visit_function_rows(struct go_rows *r, uint32_t i, struct giver *g)
{
	struct go_function f;
	int err;

	if (!go_function_at(&r->table, i, &f))
		return f.start == f.end ? 0 : visit_row_outside(g, f.start);
	if (!go_has_steps(&r->table, i))
		return visit_row_outside(g, f.start);
	if (f.end <= g->last.vaddr)
		return 0;
	err = visit_go_rows(r, &f, g);
	r->given = f.end;
	return err || g->otherwise->kind == CFI_GAP ? err : visit_row_outside(g, f.end);
}

int go_rows_between(struct go_rows *r, const struct cfi_row *before, uint64_t to, cfi_visit *visit,
		    void *context)
{
	const struct go_table *t = &r->table;
	const uint64_t from = before->vaddr > r->given ? before->vaddr : r->given;
	struct giver g = { before, *before, to, visit, context };
	int err = 0;

	if (from >= to)
		return 0;
	g.last.vaddr = from;
	while (r->next < t->n && go_function_start(t, r->next + 1) <= from)
		r->next++;
	for (uint32_t i = r->next; i < t->n && go_function_start(t, i) < to && !err; i++)
		err = visit_function_rows(r, i, &g);
	if (!err && go_function_start(t, t->n) > from)
		err = visit_row_outside(&g, go_function_start(t, t->n));
	if (r->given < to)
		r->given = to;
	return err ? err : visit(context, &g.last);
}
