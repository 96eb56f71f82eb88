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
#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"

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

/* Returns @at, or the end of @bytes if they are there. */
static size_t skip_bytes(const uint8_t *code, size_t size, size_t at, const char *bytes, size_t n)
{
	return code_begins_with(code, size, at, bytes, n) ? at + n : at;
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
	return skip_bytes(code, n, 0, "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4", 9);
}

/*
 * LuaJIT's interpreter is 16 KiB of assembly with one row, which gives rsp for all of it. But
 * compiled code jumps to one part of it with another rsp, and that part pushes more:
 *
 *	push %r13;  push %r12;  ...  push %rbp;  lea 88(%rsp), %rbp;  push %rbp;  push %rbx
 */
const struct arch_bytes arch_trace_exit = BYTES(
	"\x41\x55\x41\x54\x41\x53\x41\x52\x41\x51\x41\x50\x57\x56\x55\x48\x8d\x6c\x24\x58\x55\x53");

/* --- rules --- */

/*
 * Turn a row of CFI into a rule of 8 bytes. arch/user_step.h has the kinds of rules, which cover
 * the rows of real files. Other rows become UNWIND_UNFIT.
 */
static bool is_saved_by_bp(const struct cfi_value *v)
{
	return v->how == CFI_AT && v->reg == CFI_RBP;
}

static bool is_same_value(const struct cfi_value *a, const struct cfi_value *b)
{
	return a->how == b->how && a->reg == b->reg && a->offset == b->offset;
}

/* Is it the row of the kernel's signal frame? All values lie relative to rsp, at the ucontext. */
static bool is_linux_signal(const struct cfi_row *row)
{
	const struct cfi_row is = arch_go_signal_row(0);

	return is_same_value(&row->cfa, &is.cfa) && is_same_value(&row->sp, &is.sp) &&
	       is_same_value(&row->pc, &is.pc) && is_same_value(&row->fp, &is.fp) &&
	       is_same_value(&row->third, &is.third);
}

/* The kind of rule for a CFA; UNWIND_NO_ROW: there is none. */
static enum unwind_kind kind_of_cfa(const struct cfi_value *cfa, bool is_by_bp)
{
	switch (cfa->how) {
	case CFI_IS:
		return is_by_bp ? UNWIND_IS_BY_FP : UNWIND_IS;
	case CFI_AT:
		return is_by_bp ? UNWIND_AT_BY_FP : UNWIND_AT;
	case CFI_AT_PLUS:
		return cfa->plus == 8 && !is_by_bp ? UNWIND_AT_8 : UNWIND_NO_ROW;
	case CFI_PLT:
		return is_by_bp ? UNWIND_NO_ROW : UNWIND_PLT;
	default:
		return UNWIND_NO_ROW;
	}
}

/*
 * The place of a saved register, in words from the base. 0: unchanged; @limit: lost. False: a rule
 * cannot express it.
 */
static bool words_of_register(const struct cfi_value *v, bool is_by_bp, int limit, int *ret)
{
	*ret = 0;
	if (v->how == CFI_SAME)
		return true;
	if (v->how == CFI_UNDEFINED) {
		*ret = limit;
		return true;
	}
	if (is_by_bp ? !is_saved_by_bp(v) : v->how != CFI_AT_CFA)
		return false;
	if (v->offset % 8 || v->offset / 8 <= limit || v->offset / 8 >= -limit)
		return false;
	*ret = (int)(v->offset / 8);
	return true;
}

struct unwind_rule arch_rule_of(const struct cfi_row *row)
{
	bool is_by_bp = is_saved_by_bp(&row->fp);
	bool is_pc_in = row->pc.how == CFI_IN;
	enum unwind_kind kind = kind_of_cfa(&row->cfa, is_by_bp);
	const struct unwind_rule unfit = { .how = UNWIND_UNFIT };
	uint8_t reg = row->cfa.reg;
	int bp, bx;

	if (row->kind == CFI_GAP)
		return (struct unwind_rule){};
	if (row->kind == CFI_FRAMES)
		return UNWIND_FRAME_POINTERS;
	if (row->kind != CFI_ROW)
		return unfit;
	if (row->pc.how == CFI_UNDEFINED)
		return (struct unwind_rule){ .how = UNWIND_HOW(UNWIND_OUTERMOST, 0) };
	if (row->is_signal && is_linux_signal(row))
		return (struct unwind_rule){ .how = UNWIND_SIGNAL };
	if (kind == UNWIND_NO_ROW || (row->is_signal && kind != UNWIND_IS) ||
	    row->cfa.offset != (int32_t)row->cfa.offset)
		return unfit;
	if (is_pc_in ? kind != UNWIND_IS || reg != CFI_RSP || row->is_signal
		     : row->pc.how != CFI_AT_CFA || row->pc.offset != -8)
		return unfit;
	if (row->sp.how != CFI_IS_CFA || row->sp.offset ||
	    !words_of_register(&row->fp, is_by_bp, UNWIND_FP_LOST, &bp) ||
	    (!bp && !is_by_bp && row->fp.how != CFI_SAME) || (kind == UNWIND_PLT && bp))
		return unfit;
	if (kind == UNWIND_PLT)
		bp = row->cfa.plus;
	if (!words_of_register(&row->third, is_by_bp, UNWIND_THIRD_LOST, &bx) ||
	    (!bx && row->third.how != CFI_SAME))
		bx = UNWIND_THIRD_LOST;
	if (row->is_signal || row->is_cloned)
		kind = row->is_signal ? UNWIND_PUSHED : UNWIND_CLONED;
	return (struct unwind_rule){
		.offset = (__s32)row->cfa.offset,
		.fp = (__s16)bp,
		.third = (__s8)bx,
		.how = is_pc_in ? UNWIND_HOW(UNWIND_PC_IN, row->pc.reg) : UNWIND_HOW(kind, reg),
	};
}

/* --- Go --- */

/*
 * Go's table has the distance that rsp has moved, for each place of a function. So
 *
 *	CFA = rsp + delta + 8     return address at CFA - 8     caller's rbp at CFA - 16
 *
 * The last holds in compiled code, from a frame's beginning to its end. Up to Go 1.20, functions
 * begin and end with
 *
 *	sub $n,%rsp;  mov %rbp,n-8(%rsp);  lea n-8(%rsp),%rbp
 *	mov n-8(%rsp),%rbp;  add $n,%rsp;  ret
 *
 * Only at the second instruction is our rbp wrong. Later functions have
 *
 *	push %rbp;  mov %rsp,%rbp;  sub $n,%rsp        add $n,%rsp;  pop %rbp;  ret
 */
struct cfi_row arch_go_row(uint64_t vaddr, int32_t delta, bool is_fp_saved)
{
	struct cfi_row row = {
		.vaddr = vaddr,
		.cfa = { .how = CFI_IS, .reg = CFI_RSP, .offset = delta + 8 },
		.third = { .how = CFI_UNDEFINED },
		.sp = { .how = CFI_IS_CFA },
		.pc = { .how = CFI_AT_CFA, .offset = -8 },
	};

	if (is_fp_saved)
		row.fp = (struct cfi_value){ .how = CFI_AT_CFA, .offset = -16 };
	return row;
}

struct cfi_row arch_go_signal_row(uint64_t vaddr)
{
	return (struct cfi_row){
		.vaddr = vaddr,
		.is_signal = true,
		.cfa = { .how = CFI_AT, .reg = CFI_RSP, .offset = 160 },
		.third = { .how = CFI_AT, .reg = CFI_RSP, .offset = 128 },
		.fp = { .how = CFI_AT, .reg = CFI_RSP, .offset = 120 },
		.sp = { .how = CFI_AT, .reg = CFI_RSP, .offset = 160 },
		.pc = { .how = CFI_AT, .reg = CFI_RSP, .offset = 168 },
	};
}

/* Is @code "pop %r9" or a similar instruction? */
bool arch_go_pops_return(const uint8_t code[ARCH_GO_POP_BYTES], struct cfi_row *row)
{
	if (code[0] != 0x41 || (code[1] & 0xf8) != 0x58)
		return false;
	row->pc = (struct cfi_value){ .how = CFI_IN, .reg = 8 + (code[1] & 7) };
	return true;
}

/* mov %rsi,%rsp */
const struct arch_bytes arch_go_switch = { (const uint8_t *)"\x48\x89\xf4", 3 };
const struct arch_bytes arch_go_system_call = { (const uint8_t *)"\x0f\x05", 2 };

/* --- the first code of the dynamic linker --- */

/*
 * glibc's passes its stack:
 *
 *	48 89 e7               mov  %rsp,%rdi
 *	e8 68 0b 00 00         call _dl_start
 *
 * No function begins like this, because its return address is on top of the stack.
 */
size_t arch_linker_start(const uint8_t *code, size_t n)
{
	const size_t at = skip_bytes(code, n, 0, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */

	return n - at >= 8 && code_begins_with(code, n, at, "\x48\x89\xe7\xe8", 4) ? at + 8 : 0;
}

/* --- stubs of PLTs --- */

/*
 * A stub of a PLT jumps through a slot:
 *
 *	endbr64                  with control-flow enforcement
 *	mov    $7,%r11d          by some linkers
 *	bnd                      by some linkers
 *	jmp    *0x2fe2(%rip)     -> 0x4018: R_X86_64_JUMP_SLOT puts the function there
 *
 * Stubs begin at multiples of 8. The second half of one of 16 bytes does not decode as a stub.
 */
bool arch_fills_slot(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
	       type == R_X86_64_IRELATIVE;
}

bool arch_stub_slot(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *ret)
{
	size_t at = skip_bytes(code, n, 0, "\xf3\x0f\x1e\xfa", 4);
	int32_t there;

	if (n - at >= 6 && code[at] == 0x41 && code[at + 1] == 0xbb)
		at += 6;
	at = skip_bytes(code, n, at, "\xf2", 1);
	if (n - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&there, code + at + 2, sizeof(there));
	*ret = vaddr + at + 6 + (uint64_t)there;
	return true;
}
