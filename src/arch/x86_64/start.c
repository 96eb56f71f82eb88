// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The first code of programs. glibc's _start passes main:
 *
 *	31 ed                  xor  %ebp,%ebp
 *	...
 *	48 83 e4 f0            and  $-16,%rsp
 *	...
 *	48 8d 3d ce 00 00 00   lea  main(%rip),%rdi       position-independent
 *	48 c7 c7 06 11 40 00   mov  $main,%rdi            else
 *	ff 15 d4 2f 00 00      call *__libc_start_main@GOT
 *
 * musl's _start passes its stack in rdi to _start_c. That passes main in the same way and jumps to
 * __libc_start_main.
 *
 * glibc's dynamic linker passes the stack, too:
 *
 *	48 89 e7               mov  %rsp,%rdi
 *	e8 68 0b 00 00         call _dl_start
 *
 * No function begins like this, because its return address is on top of the stack.
 */
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"

enum effect {
	NONE,
	CLEARS_RBP, /* the outermost frame */
	ALIGNS_RSP,
	RDI_IS_STACK,
	RDI_IS_NEAR, /* %rip and the last four bytes */
	RDI_IS_ABSOLUTE,
	RDI_IS_IN_SLOT,
	LEAVES, /* to the address in its last four bytes, relative to its end */
	LEAVES_BY_SLOT,
};

/* An instruction of @n bytes. The first @n_fixed identify it. */
struct form {
	uint8_t bytes[ARCH_START_BYTES];
	uint8_t n_fixed;
	uint8_t n;
	enum effect effect;
};

/* clang-format off */
static const struct form forms[] = {
	{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, 4, NONE },      /* endbr64 */
	{ { 0x31, 0xed }, 2, 2, CLEARS_RBP },            /* xor %ebp,%ebp */
	{ { 0x48, 0x31, 0xed }, 3, 3, CLEARS_RBP },
	{ { 0x49, 0x89, 0xd1 }, 3, 3, NONE },            /* mov %rdx,%r9 */
	{ { 0x5e }, 1, 1, NONE },                        /* pop %rsi */
	{ { 0x48, 0x89, 0xe2 }, 3, 3, NONE },            /* mov %rsp,%rdx */
	{ { 0x48, 0x83, 0xe4, 0xf0 }, 4, 4, ALIGNS_RSP },
	{ { 0x50 }, 1, 1, NONE },                        /* push %rax */
	{ { 0x54 }, 1, 1, NONE },                        /* push %rsp */
	{ { 0x45, 0x31, 0xc0 }, 3, 3, NONE },            /* xor %r8d,%r8d */
	{ { 0x45, 0x31, 0xc9 }, 3, 3, NONE },
	{ { 0x31, 0xc9 }, 2, 2, NONE },
	{ { 0x31, 0xc0 }, 2, 2, NONE },
	/* _init and _fini: mov $, mov from a slot, lea; to %rcx and %r8 */
	{ { 0x48, 0xc7, 0xc1 }, 3, 7, NONE },
	{ { 0x49, 0xc7, 0xc0 }, 3, 7, NONE },
	{ { 0xb9 }, 1, 5, NONE },
	{ { 0x41, 0xb8 }, 2, 6, NONE },
	{ { 0x48, 0x8b, 0x0d }, 3, 7, NONE },
	{ { 0x4c, 0x8b, 0x05 }, 3, 7, NONE },
	{ { 0x48, 0x8d, 0x0d }, 3, 7, NONE },
	{ { 0x4c, 0x8d, 0x05 }, 3, 7, NONE },
	/* main */
	{ { 0x48, 0xc7, 0xc7 }, 3, 7, RDI_IS_ABSOLUTE },
	{ { 0xbf }, 1, 5, RDI_IS_ABSOLUTE },
	{ { 0x48, 0x8d, 0x3d }, 3, 7, RDI_IS_NEAR },
	{ { 0x48, 0x8b, 0x3d }, 3, 7, RDI_IS_IN_SLOT },
	/* musl's: _DYNAMIC, argc, argv */
	{ { 0x48, 0x89, 0xe7 }, 3, 3, RDI_IS_STACK },
	{ { 0x48, 0x8d, 0x35 }, 3, 7, NONE },
	{ { 0x8b, 0x37 }, 2, 2, NONE },
	{ { 0x48, 0x63, 0x37 }, 3, 3, NONE },
	{ { 0x48, 0x8d, 0x57, 0x08 }, 4, 4, NONE },
	{ { 0x48, 0x83, 0xec, 0x08 }, 4, 4, NONE },      /* sub $8,%rsp */
	{ { 0xe8 }, 1, 5, LEAVES },                      /* call */
	{ { 0x67, 0xe8 }, 2, 6, LEAVES },
	{ { 0xe9 }, 1, 5, LEAVES },                      /* jmp */
	{ { 0xff, 0x15 }, 2, 6, LEAVES_BY_SLOT },
	{ { 0x67, 0xff, 0x15 }, 3, 7, LEAVES_BY_SLOT },
	{ { 0xff, 0x25 }, 2, 6, LEAVES_BY_SLOT },
};
/* clang-format on */

static const struct form *start_form_at(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (forms[i].n <= n && memcmp(code, forms[i].bytes, forms[i].n_fixed) == 0)
			return &forms[i];
	return NULL;
}

static void set_rdi(struct arch_start *s, enum effect effect, int32_t operand)
{
	const uint64_t near = s->vaddr + (uint64_t)(int64_t)operand;

	s->argument_is_stack = effect == RDI_IS_STACK;
	s->argument = s->argument_at = 0;
	if (effect == RDI_IS_ABSOLUTE)
		s->argument = (uint32_t)operand;
	if (effect == RDI_IS_NEAR)
		s->argument = near;
	if (effect == RDI_IS_IN_SLOT)
		s->argument_at = near;
}

enum arch_start_step arch_follow_start(struct arch_start *s, const uint8_t *code, size_t n)
{
	const struct form *form = start_form_at(code, n);
	int32_t operand = 0;

	if (!form)
		return ARCH_START_UNKNOWN;
	if (form->n >= form->n_fixed + sizeof(operand))
		memcpy(&operand, code + form->n - sizeof(operand), sizeof(operand));
	s->vaddr += form->n;
	s->has_cleared |= form->effect == CLEARS_RBP;
	s->has_aligned |= form->effect == ALIGNS_RSP;
	if (form->effect >= LEAVES) {
		s->target = form->effect == LEAVES ? s->vaddr + (uint64_t)(int64_t)operand : 0;
		return ARCH_START_LEAVES;
	}
	if (form->effect >= RDI_IS_STACK)
		set_rdi(s, form->effect, operand);
	return ARCH_START_GOES_ON;
}

size_t arch_linker_start(const uint8_t *code, size_t n)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t begin[] = { 0x48, 0x89, 0xe7, 0xe8 };
	size_t at = 0;

	if (n >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	if (n - at < 8 || memcmp(code + at, begin, sizeof(begin)) != 0)
		return 0;
	return at + 8;
}
