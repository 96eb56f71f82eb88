// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where may execution enter code, and which instruction ends at a return address? Only a decoder
 * knows where instructions begin. So this looks for jumps and calls with a displacement at every
 * byte:
 *
 *	70-7f d8, e0-e3 d8, eb d8            jcc, loop and jrcxz, jmp
 *	e8 d32, e9 d32, 0f 80-8f d32         call, jmp, jcc
 *	c7 f8 d32                            xbegin, to its abort handler
 *
 * A displacement counts from the end of its instruction. This finds every such instruction, and
 * also bytes that mean something else. Of the 256 bytes around a place, random ones look like a
 * short jump to it in one case of twelve. Two kinds of such bytes are frequent, so we leave them
 * out. In
 *
 *	c5 f8 77  c3                         vzeroupper; ret
 *
 * 77 is a jump only after clc (f8), where "above" means no more than "not equal". Many functions
 * with vectors end in this. And in
 *
 *	62 e1 7d 28 e7 07    vmovntdq %ymm16,(%rdi)
 *
 * the second byte would be loope. Functions of string.h have many of these, and compilers make no
 * loop and no jrcxz (e0-e3).
 *
 * Before a return address, this tries each form that leaves one:
 *
 *	e8 d32                   call
 *	ff /2, 2 to 7 bytes      call *%rax, *8(%rax), *f@GOT(%rip)
 *	0f 05, 0f 34, cd 80      syscall, sysenter, int $0x80: calls of the kernel
 *
 * Padding between functions does not end like any of them.
 */
#include <string.h>

#include "arch/arch.h"
#include "arch/instruction.h"

enum lead { LEAD_NONE, LEAD_SHORT, LEAD_NEAR, LEAD_TWO_BYTES, LEAD_XBEGIN };

static const uint8_t leads[256] = {
	[0x0f] = LEAD_TWO_BYTES,      [0x70 ... 0x7f] = LEAD_SHORT, [0xc7] = LEAD_XBEGIN,
	[0xe0 ... 0xe3] = LEAD_SHORT, [0xe8 ... 0xe9] = LEAD_NEAR,  [0xeb] = LEAD_SHORT,
};

/* The size of the displacement if a jump or call begins here, else 0. *@ret_opcode: its offset. */
static inline size_t displacement_bytes(const uint8_t *code, size_t n, size_t *ret_opcode)
{
	*ret_opcode = 1;
	switch ((enum lead)leads[code[0]]) {
	case LEAD_SHORT:
		return n > 1 ? 1 : 0;
	case LEAD_NEAR:
		return n > 4 ? 4 : 0;
	case LEAD_TWO_BYTES:
		*ret_opcode = 2;
		return n > 5 && (code[1] & 0xf0) == 0x80 ? 4 : 0;
	case LEAD_XBEGIN:
		*ret_opcode = 2;
		return n > 5 && code[1] == 0xf8 ? 4 : 0;
	default:
		return 0;
	}
}

static inline bool is_vzeroupper(const uint8_t *code, size_t at)
{
	return code[at] == 0x77 && at >= 2 && code[at - 1] == 0xf8 && code[at - 2] == 0xc5;
}

/* Is this one of e0-e3, as second byte of an instruction with a VEX or EVEX prefix? */
static inline bool is_in_vector_prefix(const uint8_t *code, size_t at, size_t n)
{
	if ((code[at] & 0xfc) != 0xe0 || at < 1 || (code[at - 1] != 0x62 && code[at - 1] != 0xc4))
		return false;
	return instruction_at(code + at - 1, n - (at - 1), 0).is_vector;
}

void arch_each_jump(const struct arch_code *of, arch_take_jump *take, void *context)
{
	const uint8_t *code = of->data;
	const size_t n = of->size;

	for (size_t i = 0; i < n; i++) {
		size_t opcode;
		size_t size;
		int64_t displacement;

		if (leads[code[i]] == LEAD_NONE || is_vzeroupper(code, i) ||
		    is_in_vector_prefix(code, i, n))
			continue;
		size = displacement_bytes(code + i, n - i, &opcode);
		if (!size)
			continue;
		if (size == 1) {
			displacement = (code[i + opcode] ^ 0x80) - 0x80; /* sign-extended */
		} else {
			int32_t near;

			memcpy(&near, code + i + opcode, sizeof(near));
			displacement = near;
		}
		take(context, of->vaddr + i,
		     of->vaddr + i + opcode + size + (uint64_t)displacement);
	}
}

/* The length of "ff /2" with the second byte @modrm and the third @sib. 0: it is no such call. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
	const uint8_t mod = modrm >> 6, base = modrm & 7;
	size_t n = 2;

	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return n;
	n += base == 4;
	if (mod == 1)
		return n + 1;
	if (mod == 2 || base == 5 || (base == 4 && (sib & 7) == 5))
		return n + 4;
	return n;
}

bool arch_is_behind_call(const uint8_t *end, size_t n)
{
	if (n >= 5 && end[-5] == 0xe8)
		return true;
	if (n >= 2 && ((end[-2] == 0x0f && (end[-1] == 0x05 || end[-1] == 0x34)) ||
		       (end[-2] == 0xcd && end[-1] == 0x80)))
		return true;
	for (size_t i = 2; i <= n; i++)
		if (*(end - i) == 0xff &&
		    indirect_length(*(end - i + 1), i > 2 ? *(end - i + 2) : 0) == i)
			return true;
	return false;
}
