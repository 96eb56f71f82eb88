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
 * Before a return address there is a call, or one of the kernel: syscall (0f 05), sysenter (0f 34),
 * int $0x80 (cd 80). Padding between functions does not end like any of them.
 */
#include <string.h>

#include "arch/arch.h"
#include "arch/code.h"
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

bool arch_is_behind_call(const uint8_t *end, size_t n)
{
	uint8_t bytes[sizeof(uint64_t)] = {};
	uint64_t word;

	memcpy(bytes + sizeof(bytes) - n, end - n, n);
	memcpy(&word, bytes, sizeof(word));
	return code_may_be_call(word) || word >> 48 == 0x050f || word >> 48 == 0x340f ||
	       word >> 48 == 0x80cd;
}
