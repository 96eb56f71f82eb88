// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find _start and main of a stripped program. Its header gives _start, and _start passes main to
 * libc:
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
 * __libc_start_main. Any other instruction ends the search: the _start is of no known libc, and its
 * main gets no name.
 *
 * A library's header may name any entry. So a library's _start must look like one of these, or like
 * that of glibc's dynamic linker, which passes the stack, too:
 *
 *	48 89 e7               mov  %rsp,%rdi
 *	e8 68 0b 00 00         call _dl_start
 *
 * No function begins like this, because its return address is on top of the stack.
 */
#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "elf/entry.h"
#include "elf/internal.h"

/* glibc's have 13 instructions, musl's 5 and 7. */
#define MOST_STEPS 24
#define LONGEST 8

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
	uint8_t bytes[LONGEST];
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

/* The state before the instruction at @vaddr. */
struct state {
	uint64_t vaddr;
	uint64_t rdi; /* 0: not known */
	bool rdi_is_stack;
	bool has_cleared, has_aligned;
};

static const struct form *form_at(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (forms[i].n <= n && memcmp(code, forms[i].bytes, forms[i].n_fixed) == 0)
			return &forms[i];
	return NULL;
}

/* The value of a slot, or 0. In a position-independent program, the dynamic linker writes it. */
static uint64_t read_slot(const struct image *im, uint64_t vaddr)
{
	const struct segment *s = image_segment_of(im, vaddr);
	uint64_t value = 0;

	if (im->is_fixed && s && s->file_bytes - (vaddr - s->vaddr) >= sizeof(value))
		memcpy(&value, im->data + s->offset + (vaddr - s->vaddr), sizeof(value));
	return value;
}

static void set_rdi(const struct image *im, struct state *s, enum effect effect, int32_t operand)
{
	s->rdi_is_stack = effect == RDI_IS_STACK;
	s->rdi = 0;
	if (effect == RDI_IS_ABSOLUTE)
		s->rdi = (uint32_t)operand;
	if (effect == RDI_IS_NEAR)
		s->rdi = s->vaddr + (uint64_t)(int64_t)operand;
	if (effect == RDI_IS_IN_SLOT)
		s->rdi = read_slot(im, s->vaddr + (uint64_t)(int64_t)operand);
}

/* Go on to the call or jump to another function. *@target is 0 if it is not known. */
static bool follow_start_code(const struct image *im, struct state *s, uint64_t *target)
{
	for (int i = 0; i < MOST_STEPS; i++) {
		uint8_t code[LONGEST];
		const size_t n = image_code_at(im, s->vaddr, code, sizeof(code));
		const struct form *form = form_at(code, n);
		int32_t operand = 0;

		if (!form)
			return false;
		if (form->n >= form->n_fixed + sizeof(operand))
			memcpy(&operand, code + form->n - sizeof(operand), sizeof(operand));
		s->vaddr += form->n;
		s->has_cleared |= form->effect == CLEARS_RBP;
		s->has_aligned |= form->effect == ALIGNS_RSP;
		if (form->effect >= LEAVES) {
			*target =
				form->effect == LEAVES ? s->vaddr + (uint64_t)(int64_t)operand : 0;
			return true;
		}
		if (form->effect >= RDI_IS_STACK)
			set_rdi(im, s, form->effect, operand);
	}
	return false;
}

/* The code from @start to its end by .eh_frame, or to @least if that is not known. */
static struct code_range range_of(const struct frames *frames, uint64_t start, uint64_t least)
{
	const uint64_t end = frame_end_of(frames, start);

	return (struct code_range){ start, end > start ? end : least };
}

/* The end of the dynamic linker's _start: after the call, another function begins. 0: this is no
 * such _start. */
static uint64_t end_of_linkers_start(const struct image *im)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t begin[] = { 0x48, 0x89, 0xe7, 0xe8 };
	uint64_t at = im->entry;
	uint8_t code[8];

	if (image_code_at(im, at, code, 4) == 4 && memcmp(code, endbr64, 4) == 0)
		at += sizeof(endbr64);
	if (!im->has_64_bit_code || image_code_at(im, at, code, sizeof(code)) != sizeof(code) ||
	    memcmp(code, begin, sizeof(begin)) != 0)
		return 0;
	return at + sizeof(code);
}

/* Set ret->start if this is no _start of a known libc's programs. */
static void find_other_start(const struct image *im, const struct frames *frames,
			     struct entry_points *ret)
{
	const uint64_t end = end_of_linkers_start(im);

	if (end)
		ret->start = (struct code_range){ im->entry, end };
	else if (im->is_fixed || dynamic_is_program(im))
		ret->start = range_of(frames, im->entry, im->entry + 1);
}

struct entry_points entry_points_of(const struct image *im, const struct frames *frames)
{
	struct entry_points found = {};
	struct state s = { .vaddr = im->entry };
	uint64_t target = 0;
	uint8_t byte;

	if (!image_code_at(im, im->entry, &byte, 1))
		return found;
	if (!im->has_64_bit_code || !follow_start_code(im, &s, &target) || !s.has_cleared ||
	    !s.has_aligned) {
		find_other_start(im, frames, &found);
		return found;
	}
	found.start = range_of(frames, im->entry, s.vaddr);
	if (s.rdi_is_stack) {
		s.vaddr = target;
		if (!target || !follow_start_code(im, &s, &target))
			return found;
	}
	if (s.rdi && image_code_at(im, s.rdi, &byte, 1))
		found.main = range_of(frames, s.rdi, s.rdi + 1);
	return found;
}

static bool range_holds(const struct code_range *range, uint64_t vaddr)
{
	return vaddr >= range->start && vaddr < range->end;
}

bool entry_function_at(const struct entry_points *p, uint64_t vaddr, struct image_symbol *ret)
{
	const bool is_main = range_holds(&p->main, vaddr);
	const struct code_range *range = is_main ? &p->main : &p->start;

	if (!range_holds(range, vaddr))
		return false;
	*ret = (struct image_symbol){ .name = is_main ? "main" : "_start",
				      .vaddr = range->start,
				      .size = range->end - range->start,
				      .is_global = true };
	return true;
}
