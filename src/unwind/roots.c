// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recognize code without entries by its instructions, which the architecture knows.
 *
 * Stubs of PLTs. ld leaves out the entries for those of static programs, lld and mold for all. And
 * _init() and _fini(), which are sections, too.
 *
 * The code where signal handlers return, in musl and Go.
 *
 * Roots: a program's entry point, a thread in musl, a fiber in boost. The loaders of glibc and musl
 * have no entry there, nor has musl's clone(). A program's entry point must look like
 * one, because a library's may be any code.
 *
 * The system call of clone(), shortly before a thread's root. There, the parent is within clone(),
 * and the child on a stack of its own. No entry could express both, so C libraries have none.
 *
 * A wrong entry. LuaJIT's interpreter is 16 KiB of assembly with one row, which is wrong in one
 * part of it. Soon after that part follow functions that the interpreter calls (vm_floor, vm_mod).
 * The row is wrong for these, too, because the stack has one more return address. So the entry ends
 * where that part begins.
 */
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "elf/image.h"
#include "unwind/private.h"

size_t cfi_find_stubs(const struct image *im, struct cfi_fde ret[CFI_MAX_STUBS])
{
	static const char *const names[CFI_MAX_STUBS] = { ".plt",  ".plt.sec", ".plt.got",
							  ".iplt", ".init",    ".fini" };
	struct image_section section;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const bool is_crt = i >= 4;
		struct arch_bytes program;

		if (!image_section(im, names[i], &section))
			continue;
		program = is_crt ? arch_cfi_of_crt(section.data, section.size)
				 : arch_cfi_of_stubs(section.data, section.size);
		if (program.size || !is_crt)
			ret[n++] = (struct cfi_fde){ .start = section.vaddr,
						     .end = section.vaddr + section.size,
						     .program = program.data,
						     .program_bytes = (uint32_t)program.size };
	}
	return n;
}

/*
 * Read no more code than necessary. We skip the small gaps between functions with entries, and the
 * rest of Go's large programs, which have this code near their beginning.
 */
#define LEAST_GAP_BYTES 64
#define MAX_SEARCHED_BYTES (16UL << 20)

/*
 * Find @code in [@start, @end) of @text. Look-ups of a return to its beginning are at the byte
 * before, so that byte counts as a part of it. C libraries have a nop or padding there.
 */
static bool find_code_in(const struct image_section *text, uint64_t start, uint64_t end,
			 const struct arch_bytes *code, struct cfi_fde *ret)
{
	const uint8_t *at;

	if (start >= end || end - start < LEAST_GAP_BYTES)
		return false;
	at = memmem(text->data + (start - text->vaddr) + 1, end - start - 1, code->data,
		    code->size);
	if (!at)
		return false;
	*ret = (struct cfi_fde){ .start = text->vaddr + (uint64_t)(at - text->data) - 1 };
	ret->end = ret->start + 1 + code->size;
	return true;
}

static bool find_in_gaps(const struct image *im, const struct cfi_fde *fdes, size_t n,
			 const struct arch_bytes *code, struct cfi_fde *ret)
{
	struct image_section text;
	uint64_t at, end;
	bool is_found = false;

	if (!code->size || !image_section(im, ".text", &text))
		return false;
	at = text.vaddr;
	end = at + (text.size < MAX_SEARCHED_BYTES ? text.size : MAX_SEARCHED_BYTES);
	for (size_t i = 0; i < n && !is_found && at < end; i++) {
		is_found = find_code_in(&text, at, fdes[i].start < end ? fdes[i].start : end, code,
					ret);
		if (fdes[i].end > at)
			at = fdes[i].end;
	}
	return is_found || find_code_in(&text, at, end, code, ret);
}

bool cfi_find_signal_return(const struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_fde *ret)
{
	return find_in_gaps(im, fdes, n, &arch_signal_return, ret);
}

/* --- a program's entry point --- */

/*
 * Find the extent of the code at a program's entry point, if no entry covers it. All of this code
 * is a root. So it must not extend into another function, which has a caller.
 *
 *	_start: ...  call __libc_start_main              glibc; musl is similar
 *	_start: call _dl_start;  mov ...  jump by pointer     glibc's dynamic linker
 *
 * We follow the code in a straight line, up to an instruction that execution does not pass. A
 * symbol or the target of a call may end it before. So does the first call or system call, because
 * it may not return, and another function may follow. But the dynamic linker calls constructors
 * there.
 */
#define MAX_ENTRY_BYTES 256 /* of code from the entry point on */
#define MAX_START_BYTES 8   /* of it that must look like a program's */

struct start {
	uint64_t entry;
	uint64_t limit; /* other code begins here */
};

static void limit_start_to(struct start *s, uint64_t vaddr)
{
	if (vaddr > s->entry && vaddr < s->limit)
		s->limit = vaddr;
}

static int limit_by_symbol(void *context, const struct image_symbol *symbol)
{
	limit_start_to(context, symbol->vaddr);
	return 0;
}

/* Follow the straight line. Returns its end, which may lie past s->limit. */
static uint64_t follow_entry_code(const struct image *im, struct start *s, bool is_linkers)
{
	uint64_t at = s->entry, call_end = 0; /* of the first call */

	while (at < s->limit) {
		const struct slice code = image_code(im, at, ARCH_INSTRUCTION_BYTES);
		const struct instruction i = instruction_at(code.data, code.size, at);

		if (at == call_end && (!is_linkers || i.kind != INSTRUCTION_MOVE))
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
			call_end = call_end ? call_end : at;
			break;
		case INSTRUCTION_CALL_POINTER:
		case INSTRUCTION_SYSTEM_CALL:
			call_end = call_end ? call_end : at;
			break;
		default:
			break;
		}
	}
	return call_end ? call_end : s->limit;
}

/* Find the code of the entry point, up to the next entry at most. False: an entry covers it. */
static bool find_entry_code(struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_fde *ret)
{
	const uint64_t entry = image_entry(im);
	struct start s = { .entry = entry, .limit = entry + MAX_ENTRY_BYTES };
	const struct slice code = image_code(im, entry, ARCH_LINKER_START_BYTES);
	uint64_t end;

	if (!arch_may_be_start(code.data,
			       code.size < MAX_START_BYTES ? code.size : MAX_START_BYTES))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (fdes[i].start <= entry && fdes[i].end > entry)
			return false;
		limit_start_to(&s, fdes[i].start);
	}
	(void)image_each_function(im, limit_by_symbol, &s);
	end = follow_entry_code(im, &s, arch_linker_start(code.data, code.size) != 0);
	*ret = (struct cfi_fde){ .start = entry, .end = end < s.limit ? end : s.limit };
	return end > entry;
}

size_t cfi_find_roots(struct image *im, const struct cfi_fde *fdes, size_t n,
		      struct cfi_fde ret[CFI_MAX_ROOTS])
{
	size_t n_found = 0;

	n_found += find_entry_code(im, fdes, n, &ret[n_found]);
	if (find_in_gaps(im, fdes, n, &arch_thread_root, &ret[n_found])) {
		/* musl's exit(2) may follow */
		const struct slice code = image_code(im, ret[n_found].end, 16);

		ret[n_found++].end += arch_exit_bytes(code.data, code.size);
	}
	n_found += find_in_gaps(im, fdes, n, &arch_fiber_root, &ret[n_found]);
	return n_found;
}

#define MAX_CLONE_BYTES 16 /* from the system call to the code of the child alone */

bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_fde *ret)
{
	const uint64_t start = root - gap > MAX_CLONE_BYTES ? root - MAX_CLONE_BYTES : gap;
	const struct slice bytes = image_code(im, start, root - start);

	if (gap >= root)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(arch_clones); i++) {
		const struct arch_bytes *code = &arch_clones[i];
		const uint8_t *at =
			code->size ? memmem(bytes.data, bytes.size, code->data, code->size) : NULL;

		if (!at)
			continue;
		*ret = (struct cfi_fde){ .start = start + (uint64_t)(at - bytes.data),
					 .end = root };
		return true;
	}
	return false;
}

/* No compiler makes so long a function with so few rows. */
#define LEAST_ASSEMBLY_BYTES 4096
#define MOST_ASSEMBLY_PROGRAM 64

void cfi_cut_trace_exit(const struct image *im, struct cfi_fde *fde, uint64_t next)
{
	const struct arch_bytes *begin = &arch_trace_exit;
	const uint64_t n = (next < fde->end ? next : fde->end) - fde->start;
	struct slice code;
	const uint8_t *at;

	if (!begin->size || n < LEAST_ASSEMBLY_BYTES || fde->program_bytes > MOST_ASSEMBLY_PROGRAM)
		return;
	code = image_code(im, fde->start, n);
	at = memmem(code.data, code.size, begin->data, begin->size);
	if (at)
		fde->end = fde->start + (uint64_t)(at - code.data);
}
