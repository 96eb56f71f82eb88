// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code without CFI, known by its bytes, and the CFI that it gets.
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
 * _init() and _fini(), of glibc's crti.o and crtn.o, have no entries in most libraries:
 *
 *	sub $8, %rsp;  ...;  add $8, %rsp;  ret
 *
 * The code where signal handlers return, in musl and Go:
 *
 *	mov $15, %rax;  syscall            rt_sigreturn; rsp is at the kernel's struct ucontext
 *
 * Roots. The loaders of glibc and musl have no entry there, nor has musl's clone():
 *
 *	xor %ebp, %ebp;  or  mov %rsp, %rdi                       a program's first instructions
 *	xor %ebp, %ebp;  pop %rdi;  call *%r9                     a thread in musl
 *	push %rbp;  jmp *%rbx;  xor %rdi, %rdi;  call             a fiber in boost
 *
 * The system call of clone(), shortly before a thread's root:
 *
 *	syscall;  test %rax, %rax;  jl;  je;  ret                 clone() and clone3() in glibc
 *	syscall;  test %eax, %eax;  jne                           clone() in musl
 */
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"

/* The bytes of a string, without its end. */
#define BYTES(text)                                       \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
#define BYTES_OF(array)                \
	{                              \
		(array), sizeof(array) \
	}

/* def_cfa rsp 8; offset 16 1 (data_factor -8) */
static const uint8_t entry[] = { 0x0c, 0x07, 0x08, 0x90, 0x01 };

/* def_cfa_expression *(rsp + 160); expression: rbx at rsp + 128, rbp 120, rsp 160, rip 168 */
static const uint8_t signal[] = { 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06, 0x10, 0x03, 0x03, 0x77,
				  0x80, 0x01, 0x10, 0x06, 0x03, 0x77, 0xf8, 0x00, 0x10, 0x07,
				  0x03, 0x77, 0xa0, 0x01, 0x10, 0x10, 0x03, 0x77, 0xa8, 0x01 };

/* undefined 16 */
static const uint8_t root[] = { 0x07, 0x10 };

const struct arch_bytes arch_cfi_of_entry = BYTES_OF(entry);
const struct arch_bytes arch_cfi_of_signal = BYTES_OF(signal);
const struct arch_bytes arch_cfi_of_root = BYTES_OF(root);

#define BEHIND_PUSH(lit) \
	0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30 + (lit), 0x2a, 0x33, 0x24, 0x22

/* def_cfa_offset 16; advance_loc 6; def_cfa_offset 24; advance_loc 10; def_cfa_expression */
static const uint8_t lazy[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(11) };
static const uint8_t tracked[] = { 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, BEHIND_PUSH(9) };

static bool code_begins_with(const uint8_t *code, size_t size, size_t at, const char *bytes,
			     size_t n)
{
	return size >= at + n && memcmp(code + at, bytes, n) == 0;
}

struct arch_bytes arch_cfi_of_stubs(const uint8_t *code, size_t n)
{
	const struct arch_bytes none = { entry, 0 };
	const struct arch_bytes of_lazy = BYTES_OF(lazy);
	const struct arch_bytes of_tracked = BYTES_OF(tracked);

	if (!code_begins_with(code, n, 0, "\xff\x35", 2))
		return none;
	return code_begins_with(code, n, 16, "\xf3\x0f\x1e\xfa", 4) ? of_tracked : of_lazy;
}

/* advance_loc to behind "sub $8, %rsp"; def_cfa_offset 16; advance_loc to ret; def_cfa_offset 8 */
#define AROUND(sub_end, size)                                                      \
	{                                                                          \
		0x40 + (sub_end), 0x0e, 0x10, 0x40 + (size)-1 - (sub_end), 0x0e, 8 \
	}

struct arch_bytes arch_cfi_of_crt(const uint8_t *code, size_t n)
{
	/* .init and .fini; with endbr64 first, and without */
	static const struct {
		size_t bytes, sub_end;
		uint8_t program[6];
	} forms[] = { { 23, 4, AROUND(4, 23) },
		      { 27, 8, AROUND(8, 27) },
		      { 9, 4, AROUND(4, 9) },
		      { 13, 8, AROUND(8, 13) } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (n == forms[i].bytes &&
		    code_begins_with(code, n, forms[i].sub_end - 4, "\x48\x83\xec\x08", 4) &&
		    code_begins_with(code, n, n - 5, "\x48\x83\xc4\x08\xc3", 5))
			return (struct arch_bytes)BYTES_OF(forms[i].program);
	return (struct arch_bytes){};
}

/* "breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus" adds 8 behind a stub's push. */
bool arch_is_stub_expression(const uint8_t *rest, size_t n, int32_t *ret)
{
	static const uint8_t before[] = { 0x80, 0x00, 0x3f, 0x1a }; /* breg16 0; lit15; and */
	static const uint8_t behind[] = { 0x2a, 0x33, 0x24, 0x22 }; /* ge; lit3; shl; plus */
	const uint8_t lit0 = 0x30;

	if (n != sizeof(before) + 1 + sizeof(behind) || memcmp(rest, before, sizeof(before)) != 0 ||
	    memcmp(rest + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;

	const uint8_t lit = rest[sizeof(before)];

	*ret = lit - lit0;
	return lit >= lit0 && lit < lit0 + 16;
}

const struct arch_bytes arch_signal_return = BYTES("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05");
const struct arch_bytes arch_thread_root = BYTES("\x31\xed\x5f\x41\xff\xd1");
const struct arch_bytes arch_fiber_root = BYTES("\x55\xff\xe3\x48\x31\xff\xe8");
const struct arch_bytes arch_clones[2] = { BYTES("\x0f\x05\x48\x85\xc0"),
					   BYTES("\x0f\x05\x85\xc0") };

bool arch_may_be_start(const uint8_t *code, size_t n)
{
	return memmem(code, n, "\x31\xed", 2) || memmem(code, n, "\x48\x89\xe7", 3);
}

/* mov %eax,%edi;  xor %eax,%eax;  mov $60,%al;  syscall;  hlt */
size_t arch_exit_bytes(const uint8_t *code, size_t n)
{
	static const uint8_t end[] = { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 };

	return n >= sizeof(end) && memcmp(code, end, sizeof(end)) == 0 ? sizeof(end) : 0;
}

/*
 * LuaJIT's interpreter is 16 KiB of assembly with one row, which gives rsp for all of it. But
 * compiled code jumps to one part of it with another rsp, and that part pushes more:
 *
 *	push %r13;  push %r12;  ...  push %rbp;  lea 88(%rsp), %rbp;  push %rbp;  push %rbx
 */
const struct arch_bytes arch_trace_exit = BYTES(
	"\x41\x55\x41\x54\x41\x53\x41\x52\x41\x51\x41\x50\x57\x56\x55\x48\x8d\x6c\x24\x58\x55\x53");
