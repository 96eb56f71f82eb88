// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the extent of the code at a program's entry point, if no entry covers it. All of this code
 * is a root. So it must not extend into another function, which has a caller.
 *
 *	_start: ...  call __libc_start_main;  a trap           glibc
 *	_start: ...  call _start_c;  padding                   musl: its code ends here
 *	_start: call _dl_start;  ...  jump by pointer          ld.so
 *
 * We follow the code in a straight line, up to an instruction that execution does not pass. A
 * symbol or the target of a call may end it before.
 *
 * Without a symbol's size, each call is a doubt: if it does not return, another function follows
 * it. Other code calls that function, or it returns, which an entry point never does.
 */
#include "arch/arch.h"
#include "arch/instruction.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "elf/debug.h"
#include "elf/image.h"
#include "unwind/program.h"

#define MAX_ENTRY_BYTES 256 /* of code from the entry point on */
#define MAX_DOUBTS 32
#define MAX_RANGES 16
#define CHUNK_BYTES 65536

struct start {
	uint64_t entry;
	uint64_t limit;              /* other code begins here */
	bool is_sized;               /* @limit is by a symbol's size */
	uint64_t doubts[MAX_DOUBTS]; /* addresses after calls */
	size_t n_doubts;
};

static void limit_start_to(struct start *s, uint64_t vaddr)
{
	if (vaddr > s->entry && vaddr < s->limit)
		s->limit = vaddr;
}

static int limit_by_symbol(void *context, const struct image_symbol *symbol)
{
	struct start *s = context;
	const uint64_t end = symbol->vaddr + symbol->size;

	limit_start_to(s, symbol->vaddr);
	if (symbol->vaddr > s->entry || end <= s->entry)
		return 0;
	s->is_sized = true;
	limit_start_to(s, end);
	return 0;
}

/* Take the symbols of all tables, with that in .gnu_debugdata. */
static void limit_by_symbols(struct image *im, struct start *s)
{
	cleanup(image_freep) struct image *packed = NULL;
	struct error e;

	(void)image_each_function(im, limit_by_symbol, s);
	if (image_open_embedded(im, &packed, &e) == 0)
		(void)image_each_function(packed, limit_by_symbol, s);
}

static bool is_call_instruction(const struct instruction *i)
{
	return i->kind == INSTRUCTION_CALL || i->kind == INSTRUCTION_CALL_POINTER;
}

/* Does a function, or padding before one, likely begin here? A function saves registers, makes room
 * on the stack, or has a landing pad. */
static bool begins_function(const uint8_t *code, const struct instruction *i)
{
	return i->kind == INSTRUCTION_NOP ||
	       (i->kind == INSTRUCTION_PUSH && instruction_is_preserved(i->reg)) ||
	       (i->kind == INSTRUCTION_ADD && i->value < 0) || instruction_is_landing_pad(code, i);
}

static bool is_last_instruction(const struct instruction *i)
{
	return i->kind == INSTRUCTION_STOP || i->kind == INSTRUCTION_JUMP ||
	       i->kind == INSTRUCTION_JUMP_POINTER;
}

/* The first doubt, or @end if there is none. */
static uint64_t first_doubt(const struct start *s, uint64_t end)
{
	return s->n_doubts ? s->doubts[0] : end;
}

/* Follow the straight line. Returns its end. */
static uint64_t follow_entry_code(const struct image *im, struct start *s)
{
	uint64_t at = s->entry;

	while (at < s->limit) {
		uint8_t code[16] = {};
		const struct instruction i =
			instruction_at(code, image_code_at(im, at, code, sizeof(code)), at);
		const bool is_doubt = s->n_doubts && s->doubts[s->n_doubts - 1] == at;

		if (i.kind == INSTRUCTION_BAD || i.kind == INSTRUCTION_RETURN)
			return first_doubt(s, at + i.length);
		if (is_doubt && (begins_function(code, &i) || s->n_doubts == MAX_DOUBTS))
			return at;
		if (is_doubt && i.kind == INSTRUCTION_STOP) /* as in glibc: begins no function */
			s->n_doubts--;
		at += i.length;
		if (i.kind == INSTRUCTION_CALL)
			limit_start_to(s, i.target);
		if (is_last_instruction(&i))
			return at;
		if (!s->is_sized &&
		    (is_call_instruction(&i) || instruction_is_system_call(code, &i)))
			s->doubts[s->n_doubts++] = at;
	}
	return s->limit < s->entry + MAX_ENTRY_BYTES ? s->limit : first_doubt(s, s->limit);
}

struct search {
	const struct start *start;
	uint64_t line_end;
	uint64_t end; /* the first doubt so far to which other code refers */
};

/* Skips the straight line, whose calls follow_entry_code() has seen. */
static void note_reference(void *context, uint64_t from, uint64_t to)
{
	struct search *search = context;
	const struct start *s = search->start;

	if (from >= s->entry && from < search->line_end)
		return;
	for (size_t i = 0; i < s->n_doubts; i++)
		if (s->doubts[i] == to && to < search->end)
			search->end = to;
}

/* The first doubt below @end to which other code refers, or @end. */
static uint64_t find_referenced_doubt(const struct image *im, const struct start *s, uint64_t end)
{
	struct search search = { .start = s, .end = end };
	struct code_range ranges[MAX_RANGES];
	const size_t n = image_code_ranges(im, ranges, MAX_RANGES);
	cleanup_free uint8_t *bytes = xmalloc(CHUNK_BYTES);

	for (size_t i = 0; i < n; i++) {
		struct arch_code code = { .data = bytes, .size = CHUNK_BYTES };

		for (uint64_t at = ranges[i].start; at < ranges[i].end && code.size == CHUNK_BYTES;
		     at += CHUNK_BYTES - 3) {
			search.line_end = search.end;
			code.vaddr = at;
			code.size = image_code_at(im, at, bytes, CHUNK_BYTES);
			arch_each_reference(&code, s->entry, MAX_ENTRY_BYTES, note_reference,
					    &search);
		}
	}
	return search.end;
}

bool cfi_find_entry(struct image *im, uint64_t limit, struct cfi_stubs *ret)
{
	struct start s = { .entry = image_entry(im), .limit = image_entry(im) + MAX_ENTRY_BYTES };
	uint64_t end;

	limit_start_to(&s, limit);
	limit_by_symbols(im, &s);
	end = follow_entry_code(im, &s);
	if (end > s.limit)
		end = s.limit;
	if (s.n_doubts && s.doubts[0] < end)
		end = find_referenced_doubt(im, &s, end);
	*ret = (struct cfi_stubs){ .start = s.entry, .end = end };
	return end > s.entry;
}
