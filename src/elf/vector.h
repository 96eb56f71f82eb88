/*
 * elf/vector.h - x86 instructions that have a VEX, EVEX or XOP prefix. Pure.
 *
 *	c5 f9 74 c1        vpcmpeqb %xmm1,%xmm0,%xmm0       VEX of two bytes
 *	c4 e2 79 58 07     vpbroadcastd (%rdi),%xmm0        VEX of three
 *	62 e2 7d 28 7a ce  vpbroadcastb %esi,%ymm17         EVEX
 *	8f e9 78 c2 ...    (AMD's, of one family only)      XOP
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_BYTES 15 /* of the longest */

enum encoding { ENCODING_PLAIN, ENCODING_VEX, ENCODING_EVEX, ENCODING_XOP };

struct encoded {
	enum encoding encoding;
	uint8_t rex;              /* the REX prefix of a plain one, 0 if it has none */
	uint8_t opcode;           /* the byte behind all prefixes */
	bool has_repeat;          /* a repeat prefix, whatever it means there */
	bool has_lock_or_segment; /* a lock prefix, or one of es, ss or ds */
	bool has_cs;              /* that of cs */
	bool is_long_nop;         /* 0f 1f, whatever its prefixes */
};

/* What the instruction that begins here is. False: the bytes end before its opcode. */
bool encoded_read(const uint8_t *bytes, size_t n, bool is_64_bit, struct encoded *ret);

/*
 * How many bytes long is it, if it is one in VEX or EVEX encoding, of 64-bit mode, that leaves
 * rsp and rbp alone? Else 0; so for what is not known here, for what writes other general
 * registers (but for vmovd and vmovq), and for one that the bytes do not hold as a whole.
 */
size_t vector_length(const uint8_t *bytes, size_t n);
