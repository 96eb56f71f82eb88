// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the extent of the code at a program's entry point, if no entry covers it. All of this code
 * is a root. So it must not extend into another function, which has a caller.
 *
 *	_start: ...  call __libc_start_main              glibc; musl is similar
 *	_start: call _dl_start;  mov ...  jump by pointer     glibc's dynamic linker
 *
 * We follow the code in a straight line, up to an instruction that execution does not pass. A
 * symbol or the target of a call may end it before. So does the first call or system call, because
 * it may not return, and another function may follow. There are two exceptions: the entry point's
 * symbol has a size, or this is the dynamic linker, which calls constructors there.
 */
#include "arch/arch.h"
#include "elf/image.h"
#include "unwind/program.h"

#define MAX_ENTRY_BYTES 256 /* of code from the entry point on */

struct start {
	uint64_t entry;
	uint64_t limit; /* other code begins here */
	bool is_sized;  /* @limit is by a symbol's size */
	bool is_linkers;
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

/* Follow the straight line. Returns its end. */
static uint64_t follow_entry_code(const struct image *im, struct start *s)
{
	uint64_t at = s->entry, call_end = 0; /* of the first call */

	while (at < s->limit) {
		bool may_not_return = false;
		uint8_t code[ARCH_INSTRUCTION_BYTES] = {};
		const struct instruction i =
			instruction_at(code, image_code_at(im, at, code, sizeof(code)), at);

		if (at == call_end && (!s->is_linkers || i.kind != INSTRUCTION_MOVE))
			return at;
		at += i.length;
		switch (i.kind) {
		case INSTRUCTION_JUMP_POINTER:
			return at;
		case INSTRUCTION_JUMP:
		case INSTRUCTION_RETURN:
		case INSTRUCTION_STOP:
		case INSTRUCTION_BAD:
			return call_end ? call_end : at;
		case INSTRUCTION_CALL:
			limit_start_to(s, i.target);
			may_not_return = true;
			break;
		case INSTRUCTION_CALL_POINTER:
		case INSTRUCTION_SYSTEM_CALL:
			may_not_return = true;
			break;
		default:
			break;
		}
		if (may_not_return && !s->is_sized && !call_end)
			call_end = at;
	}
	return call_end ? call_end : s->limit;
}

bool cfi_find_entry(struct image *im, uint64_t limit, struct cfi_stubs *ret)
{
	struct start s = { .entry = image_entry(im), .limit = image_entry(im) + MAX_ENTRY_BYTES };
	uint8_t code[ARCH_LINKER_START_BYTES];
	uint64_t end;

	limit_start_to(&s, limit);
	(void)image_each_function(im, limit_by_symbol, &s);
	s.is_linkers = arch_linker_start(code, image_code_at(im, s.entry, code, sizeof(code))) != 0;
	end = follow_entry_code(im, &s);
	if (end > s.limit)
		end = s.limit;
	*ret = (struct cfi_stubs){ .start = s.entry, .end = end };
	return end > s.entry;
}
