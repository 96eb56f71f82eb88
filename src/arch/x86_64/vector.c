// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The prefix has the number of the opcode's map. It also replaces the prefixes of plain
 * instructions (66, f3, f2, REX):
 *
 *	c5 .. OP           map 1 (0f)
 *	c4 .m .. OP        map m: 1 (0f), 2 (0f 38), 3 (0f 3a)
 *	62 .m .. .. OP     the same; and 5 and 6 for half precision
 *
 * After OP come ModRM, then SIB and displacement if ModRM has them, then maybe an imm8. Map 3
 * always has an imm8, map 1 with eight opcodes, and the other maps never. Only 0f 77 (vzeroupper,
 * vzeroall) has no ModRM. So lengths do not depend on the tables below. These have the opcodes that
 * leave the general registers alone. They leave out
 *
 *	0f    2c 2d 50 93 c5 d7, 78 79 of EVEX	moves and conversions to general registers
 *	0f38  49 4b 5c 5e				tiles
 *	0f38  e0-ef, f2-f7				cmpccxadd; andn, bzhi, mulx, shlx ...
 *	0f3a  14-17, 60-63, f0				vpextr*, vpcmp*str* (rcx); rorx
 *
 * and opcodes that no CPU had when we made them. Sources: the opcode maps of Intel's manual (volume
 * 2, appendix A), and AMD's FMA4 (of 0f3a).
 */
#include "arch/x86_64/vector.h"

#include "arch/arch.h"
#include "base/array.h"

struct span {
	uint8_t first, last;
};

/* clang-format off */
static const struct span vex_0f[] = {
	{ 0x10, 0x17 }, { 0x28, 0x2b }, { 0x2e, 0x2f }, { 0x41, 0x42 }, { 0x44, 0x47 },
	{ 0x4a, 0x4b }, { 0x51, 0x77 }, { 0x7c, 0x7f }, { 0x90, 0x92 },
	{ 0x98, 0x99 }, { 0xae, 0xae }, { 0xc2, 0xc2 }, { 0xc4, 0xc4 }, { 0xc6, 0xc6 },
	{ 0xd0, 0xd6 }, { 0xd8, 0xfe },
};
static const struct span vex_0f38[] = {
	{ 0x00, 0x0f }, { 0x13, 0x13 }, { 0x16, 0x1a }, { 0x1c, 0x1e }, { 0x20, 0x25 },
	{ 0x28, 0x41 }, { 0x45, 0x47 }, { 0x50, 0x53 }, { 0x58, 0x5a }, { 0x72, 0x72 },
	{ 0x78, 0x79 }, { 0x8c, 0x8c }, { 0x8e, 0x8e }, { 0x90, 0x93 }, { 0x96, 0x9f },
	{ 0xa6, 0xb1 }, { 0xb4, 0xbf }, { 0xcf, 0xcf }, { 0xdb, 0xdf },
};
static const struct span vex_0f3a[] = {
	{ 0x00, 0x02 }, { 0x04, 0x06 }, { 0x08, 0x0f }, { 0x18, 0x19 }, { 0x1d, 0x1d },
	{ 0x20, 0x22 }, { 0x30, 0x33 }, { 0x38, 0x39 }, { 0x40, 0x42 }, { 0x44, 0x44 },
	{ 0x46, 0x46 }, { 0x48, 0x4c }, { 0x5c, 0x5f }, { 0x68, 0x6f }, { 0x78, 0x7f },
	{ 0xce, 0xcf }, { 0xdf, 0xdf },
};
static const struct span evex_0f[] = {
	{ 0x10, 0x17 }, { 0x28, 0x2b }, { 0x2e, 0x2f }, { 0x51, 0x51 }, { 0x54, 0x76 },
	{ 0x7a, 0x7b }, { 0x7e, 0x7f }, { 0xc2, 0xc2 }, { 0xc4, 0xc4 }, { 0xc6, 0xc6 },
	{ 0xd1, 0xd6 }, { 0xd8, 0xef }, { 0xf1, 0xf6 }, { 0xf8, 0xfe },
};
static const struct span evex_0f38[] = {
	{ 0x00, 0x00 }, { 0x04, 0x04 }, { 0x0b, 0x0d }, { 0x10, 0x16 }, { 0x18, 0x2d },
	{ 0x30, 0x40 }, { 0x42, 0x47 }, { 0x4c, 0x55 }, { 0x58, 0x5b }, { 0x62, 0x66 },
	{ 0x68, 0x68 }, { 0x70, 0x73 }, { 0x75, 0x7f }, { 0x83, 0x83 }, { 0x88, 0x8b },
	{ 0x8d, 0x8d }, { 0x8f, 0x93 }, { 0x96, 0xa3 }, { 0xa6, 0xaf }, { 0xb4, 0xbf },
	{ 0xc4, 0xc4 }, { 0xc6, 0xc8 }, { 0xca, 0xcd }, { 0xcf, 0xcf }, { 0xdc, 0xdf },
};
static const struct span evex_0f3a[] = {
	{ 0x00, 0x01 }, { 0x03, 0x05 }, { 0x08, 0x0b }, { 0x0f, 0x0f }, { 0x18, 0x1b },
	{ 0x1d, 0x23 }, { 0x25, 0x27 }, { 0x38, 0x3b }, { 0x3e, 0x3f }, { 0x42, 0x44 },
	{ 0x50, 0x51 }, { 0x54, 0x57 }, { 0x66, 0x67 }, { 0x70, 0x73 }, { 0xc2, 0xc2 },
	{ 0xce, 0xcf },
};
static const struct span evex_5[] = {
	{ 0x10, 0x11 }, { 0x1d, 0x1d }, { 0x2a, 0x2a }, { 0x2e, 0x2f }, { 0x51, 0x51 },
	{ 0x58, 0x5f }, { 0x6e, 0x6e }, { 0x7a, 0x7d },
};
static const struct span evex_6[] = {
	{ 0x13, 0x13 }, { 0x2c, 0x2d }, { 0x42, 0x43 }, { 0x4c, 0x4f }, { 0x56, 0x57 },
	{ 0x96, 0x9f }, { 0xa6, 0xaf }, { 0xb6, 0xbf }, { 0xd6, 0xd7 },
};

static const struct map {
	enum encoding encoding;
	unsigned number;
	const struct span *spans;
	size_t n;
} maps[] = {
	{ ENCODING_VEX, 1, vex_0f, ARRAY_SIZE(vex_0f) },
	{ ENCODING_VEX, 2, vex_0f38, ARRAY_SIZE(vex_0f38) },
	{ ENCODING_VEX, 3, vex_0f3a, ARRAY_SIZE(vex_0f3a) },
	{ ENCODING_EVEX, 1, evex_0f, ARRAY_SIZE(evex_0f) },
	{ ENCODING_EVEX, 2, evex_0f38, ARRAY_SIZE(evex_0f38) },
	{ ENCODING_EVEX, 3, evex_0f3a, ARRAY_SIZE(evex_0f3a) },
	{ ENCODING_EVEX, 5, evex_5, ARRAY_SIZE(evex_5) },
	{ ENCODING_EVEX, 6, evex_6, ARRAY_SIZE(evex_6) },
};
/* clang-format on */

static bool is_known_opcode(enum encoding encoding, unsigned map, uint8_t opcode)
{
	for (size_t m = 0; m < ARRAY_SIZE(maps); m++) {
		if (maps[m].encoding != encoding || maps[m].number != map)
			continue;
		for (size_t i = 0; i < maps[m].n; i++)
			if (opcode >= maps[m].spans[i].first && opcode <= maps[m].spans[i].last)
				return true;
	}
	return false;
}

/* --- prefixes and opcode --- */

static bool is_legacy_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26: /* segments */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66: /* operand size */
	case 0x67: /* address size */
	case 0xf0: /* lock */
	case 0xf2: /* repeat */
	case 0xf3:
		return true;
	default:
		return false;
	}
}

static bool is_old_segment(uint8_t byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e;
}

/* *@ret_n: the bytes of the prefix before the opcode, 0 for a plain instruction. */
static enum encoding read_prefix(const uint8_t *bytes, size_t n, bool is_64_bit, size_t *ret_n)
{
	uint8_t second = n > 1 ? bytes[1] : 0xff;
	/* In 32-bit mode, these are lds, les and bound if a memory operand follows. */
	bool is_vector = is_64_bit || second >= 0xc0;

	*ret_n = 0;
	if (bytes[0] == 0xc5 && is_vector) {
		*ret_n = 2;
		return ENCODING_VEX;
	}
	if (bytes[0] == 0xc4 && is_vector) {
		*ret_n = 3;
		return ENCODING_VEX;
	}
	if (bytes[0] == 0x62 && is_vector) {
		*ret_n = 4;
		return ENCODING_EVEX;
	}
	/* It is pop if the three bits of ModRM that belong to the opcode are 0. */
	if (bytes[0] == 0x8f && second & 0x38) {
		*ret_n = 3;
		return ENCODING_XOP;
	}
	return ENCODING_PLAIN;
}

bool encoded_read(const uint8_t *bytes, size_t n, bool is_64_bit, struct encoded *ret)
{
	size_t at = 0;
	size_t prefix = 0;

	*ret = (struct encoded){ .encoding = ENCODING_PLAIN };
	for (; at < n && is_legacy_prefix(bytes[at]); at++) {
		ret->has_repeat |= bytes[at] == 0xf2 || bytes[at] == 0xf3;
		ret->has_bad_prefix |= bytes[at] == 0xf0 || is_old_segment(bytes[at]);
	}
	while (is_64_bit && at < n && (bytes[at] & 0xf0) == 0x40)
		ret->rex = bytes[at++];
	if (at < n)
		ret->encoding = read_prefix(bytes + at, n - at, is_64_bit, &prefix);
	if (at + prefix >= n)
		return false;
	ret->opcode = bytes[at + prefix];
	return true;
}

/* --- length --- */

/* The map's number, or 0 if the fixed bits are wrong. */
static unsigned opcode_map_of(enum encoding encoding, const uint8_t *bytes)
{
	if (encoding == ENCODING_VEX)
		return bytes[0] == 0xc5 ? 1 : bytes[1] & 0x1f;
	/* Two bits are fixed on CPUs with 16 general registers (without APX). */
	if (encoding != ENCODING_EVEX || bytes[1] & 0x08 || !(bytes[2] & 0x04))
		return 0;
	return bytes[1] & 0x07;
}

/* The bytes of ModRM, SIB and displacement; 0: @n is too small to tell. */
static size_t operand_bytes(const uint8_t *bytes, size_t n)
{
	if (n < 1)
		return 0;

	unsigned mod = bytes[0] >> 6;
	unsigned rm = bytes[0] & 7;
	bool has_sib = mod != 3 && rm == 4;

	if (has_sib && n < 2)
		return 0;

	unsigned base = has_sib ? bytes[1] & 7 : rm;
	size_t length = has_sib ? 2 : 1;

	if (mod == 1)
		length += 1;
	if (mod == 2 || (mod == 0 && base == 5))
		length += 4;
	return length;
}

/*
 * 0f 7e (vmovd, vmovq) may write any general register. Functions of mathematical libraries begin
 * with it, to test the bits of their argument. Does it write rsp or rbp? r12 and r13 have the same
 * places in ModRM, so they count, too.
 */
static bool is_to_stack_register(unsigned map, uint8_t opcode, uint8_t modrm)
{
	return map == 1 && opcode == 0x7e && modrm >= 0xc0 && (modrm & 6) == 4;
}

static bool has_imm8(unsigned map, uint8_t opcode)
{
	if (map == 1)
		return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
		       (opcode >= 0xc4 && opcode <= 0xc6);
	return map == 3;
}

size_t vector_length(const uint8_t *bytes, size_t n)
{
	size_t at = 0;
	enum encoding encoding = n ? read_prefix(bytes, n, true, &at) : ENCODING_PLAIN;

	if (at == 0 || at >= n)
		return 0;

	unsigned map = opcode_map_of(encoding, bytes);
	uint8_t opcode = bytes[at++];

	if (!is_known_opcode(encoding, map, opcode))
		return 0;
	if (encoding == ENCODING_VEX && map == 1 && opcode == 0x77)
		return at;

	if (at < n && is_to_stack_register(map, opcode, bytes[at]))
		return 0;

	size_t operands = operand_bytes(bytes + at, n - at);
	size_t length = at + operands + (has_imm8(map, opcode) ? 1 : 0);

	return operands && length <= n && length <= ARCH_INSTRUCTION_BYTES ? length : 0;
}
