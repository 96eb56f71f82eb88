/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/x86_64/vector.h - recognize and measure instructions with a VEX, EVEX or XOP
 * prefix. Pure. For arch/x86_64/ only.
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

enum encoding { ENCODING_PLAIN, ENCODING_VEX, ENCODING_EVEX, ENCODING_XOP };

struct encoded {
	enum encoding encoding;
	uint8_t rex;         /* the REX prefix of a plain instruction, 0 if it has none */
	uint8_t opcode;      /* the byte after all prefixes */
	bool has_repeat;     /* it has a repeat prefix, whatever that means here */
	bool has_bad_prefix; /* it has a lock prefix, or one of es, cs, ss or ds */
};

/* Read the prefixes and the opcode of an instruction. False: @n bytes do not reach the opcode. */
bool encoded_read(const uint8_t *bytes, size_t n, bool is_64_bit, struct encoded *ret);

/*
 * The length of the instruction at @bytes if it has VEX or EVEX encoding (64-bit mode) and does not
 * write rsp or rbp. Returns 0 for all others. It also returns 0 for unknown instructions, for most
 * that write other general registers (vmovd and vmovq excepted), and if @n bytes are too few.
 */
size_t vector_length(const uint8_t *bytes, size_t n);
