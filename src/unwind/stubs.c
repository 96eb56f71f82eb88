// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recognize code without entries by its instructions.
 *
 * Stubs of PLTs. ld leaves out the entries for those of static programs, lld and mold for all. A
 * stub jumps. One that binds lazily pushes a number first:
 *
 *	.plt    push GOT+8(%rip);  jmp *GOT+16(%rip)     16 bytes; two words are on the stack before
 *	        jmp *slot(%rip);   push $n;  jmp .plt    16 bytes each, and so on
 *	        endbr64;  push $n;  jmp .plt             with indirect branch tracking
 *
 * They get the programs that ld writes for its own stubs.
 *
 * The code where signal handlers return, in musl and Go:
 *
 *	mov $15, %rax;  syscall            rt_sigreturn; rsp is at the kernel's struct ucontext
 *
 * Roots. The loaders of glibc and musl have no entry there, nor has musl's clone(). A program's
 * entry point (entry.c) must look like one, because a library's may be any code:
 *
 *	xor %ebp, %ebp;  or  mov %rsp, %rdi                       among the first instructions
 *	xor %ebp, %ebp;  pop %rdi;  call *%r9                     a thread in musl
 *	push %rbp;  jmp *%rbx;  xor %rdi, %rdi;  call             a fiber in boost
 *
 * The system call of clone(), shortly before a thread's root. There, the parent is within clone(),
 * and the child on a stack of its own. No entry could express both, so C libraries have none:
 *
 *	syscall;  test %rax, %rax;  jl;  je;  ret                 clone() and clone3() in glibc
 *	syscall;  test %eax, %eax;  jne                           clone() in musl
 *
 * A wrong entry. LuaJIT's interpreter is 16 KiB of assembly with one row, which gives rsp for all
 * of it. But compiled code jumps to one part of it with another rsp, and that part pushes more:
 *
 *	push %r13;  push %r12;  ...  push %rbp;  lea 88(%rsp), %rbp;  ...  mov %rcx, %rsp
 *
 * After that part follow functions that the interpreter calls (vm_floor, vm_mod). The row is wrong
 * for these, too, because the stack has one more return address.
 */
#include <string.h>

#include "base/array.h"
#include "elf/image.h"
#include "unwind/instruction.h"
#include "unwind/program.h"

/* def_cfa rsp 8; offset 16 1 (data_factor -8) */
static const uint8_t initial[] = { 0x0c, 0x07, 0x08, 0x90, 0x01 };

#define BEHIND_PUSH(lit) \
	0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30 + (lit), 0x2a, 0x33, 0x24, 0x22

/* def_cfa_offset 16; advance_loc 6; def_cfa_offset 24; advance_loc 10; def_cfa_expression */
static const uint8_t lazy[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(11) };
static const uint8_t tracked[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(9) };

static bool section_begins_with(const struct image_section *s, size_t at, const char *bytes,
				size_t n)
{
	return s->size >= at + n && memcmp(s->data + at, bytes, n) == 0;
}

static void choose_program(const struct image_section *s, struct cfi_stubs *ret)
{
	*ret = (struct cfi_stubs){ .start = s->vaddr,
				   .end = s->vaddr + s->size,
				   .program = initial };
	if (!section_begins_with(s, 0, "\xff\x35", 2))
		return;
	ret->program = section_begins_with(s, 16, "\xf3\x0f\x1e\xfa", 4) ? tracked : lazy;
	ret->program_bytes = sizeof(lazy);
}

size_t cfi_find_stubs(const struct image *im, struct cfi_stubs ret[CFI_MAX_STUBS])
{
	static const char *const names[CFI_MAX_STUBS] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct image_section section;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (image_section(im, names[i], &section))
			choose_program(&section, &ret[n++]);
	return n;
}

void cfi_stubs_cie(struct cfi_cie *ret)
{
	*ret = (struct cfi_cie){ .code_factor = 1, .data_factor = -8 };
	(void)cfi_run_initial(ret, initial, sizeof(initial));
}

struct code {
	const char *bytes;
	size_t n;
};

/* def_cfa_expression *(rsp + 160); expression: rbx at rsp + 128, rbp 120, rsp 160, rip 168 */
static const uint8_t signal_initial[] = { 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06, 0x10, 0x03,
					  0x03, 0x77, 0x80, 0x01, 0x10, 0x06, 0x03, 0x77,
					  0xf8, 0x00, 0x10, 0x07, 0x03, 0x77, 0xa0, 0x01,
					  0x10, 0x10, 0x03, 0x77, 0xa8, 0x01 };

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
			 const struct code *code, struct cfi_stubs *ret)
{
	const uint8_t *at;

	if (start >= end || end - start < LEAST_GAP_BYTES)
		return false;
	at = memmem(text->data + (start - text->vaddr) + 1, end - start - 1, code->bytes, code->n);
	if (!at)
		return false;
	ret->start = text->vaddr + (uint64_t)(at - text->data) - 1;
	ret->end = ret->start + 1 + code->n;
	return true;
}

static bool find_in_gaps(const struct image *im, const struct cfi_fde *fdes, size_t n,
			 const struct code *code, struct cfi_stubs *ret)
{
	struct image_section text;
	uint64_t at, end;
	bool is_found = false;

	if (!image_section(im, ".text", &text))
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
			    struct cfi_stubs *ret)
{
	static const struct code code = { "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9 };

	*ret = (struct cfi_stubs){ .program = signal_initial };
	return find_in_gaps(im, fdes, n, &code, ret);
}

void cfi_signal_cie(struct cfi_cie *ret)
{
	*ret = (struct cfi_cie){ .code_factor = 1, .data_factor = -8, .is_signal = true };
	(void)cfi_run_initial(ret, signal_initial, sizeof(signal_initial));
}

static bool looks_like_entry(const uint8_t *code, size_t n)
{
	return memmem(code, n, "\x31\xed", 2) || memmem(code, n, "\x48\x89\xe7", 3);
}

/* Find the code of the entry point, up to the next entry at most. False: an entry covers it. */
static bool find_entry_code(struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_stubs *ret)
{
	const uint64_t entry = image_entry(im);
	uint64_t next = UINT64_MAX;
	uint8_t code[8];

	if (!looks_like_entry(code, image_code_at(im, entry, code, sizeof(code))))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (fdes[i].start <= entry && fdes[i].end > entry)
			return false;
		if (fdes[i].start > entry && fdes[i].start < next)
			next = fdes[i].start;
	}
	return cfi_find_entry(im, next, ret);
}

/* Add "mov %eax,%edi;  xor %eax,%eax;  mov $60,%al;  syscall;  hlt" after @thread's code. */
static void add_exit(const struct image *im, struct cfi_stubs *thread)
{
	static const uint8_t end[] = { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 };
	uint8_t code[sizeof(end)];

	if (image_code_at(im, thread->end, code, sizeof(code)) == sizeof(end) &&
	    memcmp(code, end, sizeof(end)) == 0)
		thread->end += sizeof(end);
}

/* undefined 16 */
static const uint8_t root_initial[] = { 0x07, 0x10 };

size_t cfi_find_roots(struct image *im, const struct cfi_fde *fdes, size_t n,
		      struct cfi_stubs ret[CFI_MAX_ROOTS])
{
	static const struct code thread = { "\x31\xed\x5f\x41\xff\xd1", 6 };
	static const struct code fiber = { "\x55\xff\xe3\x48\x31\xff\xe8", 7 };
	size_t n_found = 0;

	n_found += find_entry_code(im, fdes, n, &ret[n_found]);
	if (find_in_gaps(im, fdes, n, &thread, &ret[n_found]))
		add_exit(im, &ret[n_found++]);
	n_found += find_in_gaps(im, fdes, n, &fiber, &ret[n_found]);
	for (size_t i = 0; i < n_found; i++) {
		ret[i].program = root_initial;
		ret[i].program_bytes = 0;
	}
	return n_found;
}

#define MAX_CLONE_BYTES 16 /* from the system call to the code of the child alone */

bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_stubs *ret)
{
	static const struct code codes[] = { { "\x0f\x05\x48\x85\xc0", 5 },
					     { "\x0f\x05\x85\xc0", 4 } };
	const uint64_t start = root - gap > MAX_CLONE_BYTES ? root - MAX_CLONE_BYTES : gap;
	uint8_t bytes[MAX_CLONE_BYTES];
	size_t n;

	if (gap >= root)
		return false;
	n = image_code_at(im, start, bytes, root - start);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		const uint8_t *at = memmem(bytes, n, codes[i].bytes, codes[i].n);

		if (!at)
			continue;
		*ret = (struct cfi_stubs){ .start = start + (uint64_t)(at - bytes), .end = root };
		return true;
	}
	return false;
}

void cfi_clones_cie(struct cfi_cie *ret)
{
	*ret = (struct cfi_cie){ .code_factor = 1, .data_factor = -8, .is_cloned = true };
	(void)cfi_run_initial(ret, initial, sizeof(initial));
}

void cfi_roots_cie(struct cfi_cie *ret)
{
	*ret = (struct cfi_cie){ .code_factor = 1, .data_factor = -8 };
	(void)cfi_run_initial(ret, root_initial, sizeof(root_initial));
}

#define MAX_EXIT_BYTES 512 /* 261 in LuaJIT 2.1 */

/*
 * The part begins with the pushes at the exit of compiled code. It ends with "mov %rcx, %rsp",
 * which restores the interpreter's rsp, and has two encodings.
 */
bool cfi_find_trace_exit(const struct image *im, uint64_t start, uint64_t end,
			 struct code_range *ret)
{
	static const struct code begin = { "\x41\x55\x41\x54\x41\x53\x41\x52\x41\x51\x41\x50"
					   "\x57\x56\x55\x48\x8d\x6c\x24\x58\x55\x53",
					   22 };
	struct image_section text;
	const uint8_t *at, *last, *other;
	size_t n;

	if (!image_section(im, ".text", &text) || start < text.vaddr || end < start ||
	    end - text.vaddr > text.size)
		return false;
	at = memmem(text.data + (start - text.vaddr), end - start, begin.bytes, begin.n);
	if (!at)
		return false;
	ret->start = text.vaddr + (uint64_t)(at - text.data);
	n = end - ret->start < MAX_EXIT_BYTES ? end - ret->start : MAX_EXIT_BYTES;
	last = memmem(at, n, "\x48\x89\xcc", 3);
	other = memmem(at, n, "\x48\x8b\xe1", 3);
	if (!last || (other && other < last))
		last = other;
	ret->end = ret->start + (last ? (uint64_t)(last - at) + 3 : n);
	return true;
}

uint64_t cfi_find_called(const struct image *im, uint64_t start, uint64_t end, uint64_t from)
{
	struct image_section text;
	uint64_t first = end;

	if (!image_section(im, ".text", &text) || start < text.vaddr || end < start ||
	    end - text.vaddr > text.size)
		return end;
	for (uint64_t at = start; at < end;) {
		const struct instruction i =
			instruction_at(text.data + (at - text.vaddr), end - at, at);

		if (i.kind == INSTRUCTION_CALL && i.target >= from && i.target < first)
			first = i.target;
		at += i.length ? i.length : 1;
	}
	return first;
}
