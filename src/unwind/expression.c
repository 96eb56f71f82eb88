// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The DWARF expressions in CFI. Toolchains and hand-written assembly use these forms:
 *
 *	breg7 +8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus    stubs of PLTs (ld)
 *	breg6 -8; deref                       the CFA of a realigned stack (gcc)
 *	breg7 +56; deref; plus_uconst 8       the same (OpenSSL)
 *	breg7 +160                            registers in signal frames (glibc)
 *
 * An unwind table has no room for programs. So this recognizes these forms, and all others are
 * CFI_OTHER.
 */
#include <string.h>

#include "unwind/program.h"

enum {
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23,
	OP_BREG0 = 0x70,
	OP_BREG_LAST = OP_BREG0 + CFI_N_REGISTERS - 1,
	OP_LIT0 = 0x30,
};

/* Does the rest after "breg7 8" add 8 after a stub's push? *@ret_from: from which byte on. */
static bool is_plt_expression(struct cursor *c, int32_t *ret_from)
{
	static const uint8_t before[] = { 0x80, 0x00, 0x3f, 0x1a }; /* breg16 0; lit15; and */
	static const uint8_t behind[] = { 0x2a, 0x33, 0x24, 0x22 }; /* ge; lit3; shl; plus */

	if (cursor_left(c) != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(c->at, before, sizeof(before)) != 0 ||
	    memcmp(c->at + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;

	uint8_t lit = c->at[sizeof(before)];

	*ret_from = lit - OP_LIT0;
	return lit >= OP_LIT0 && lit < OP_LIT0 + 16;
}

/* The sum of the constants that follow. */
static int64_t read_plus(struct cursor *c)
{
	int64_t plus = 0;

	while (c->at < c->end && *c->at == OP_PLUS_UCONST) {
		c->at++;
		plus += (int64_t)(cursor_uleb(c) & INT32_MAX);
	}
	return plus;
}

struct cfi_value cfi_expression(const uint8_t *code, size_t size, bool is_address)
{
	const struct cfi_value other = { .how = CFI_OTHER };
	struct cursor c = { .at = code, .end = code + size };
	struct cfi_value v = { .how = is_address ? CFI_AT : CFI_IS };
	uint8_t op = (uint8_t)cursor_uint(&c, 1);

	if (op < OP_BREG0 || op > OP_BREG_LAST)
		return other;
	v.reg = op - OP_BREG0;
	v.offset = cursor_sleb(&c);
	if (!is_address && is_plt_expression(&c, &v.plus)) {
		v.how = CFI_PLT;
		return v;
	}
	v.offset += read_plus(&c);
	if (!is_address && c.at < c.end && *c.at == OP_DEREF) {
		int64_t plus;

		c.at++;
		plus = read_plus(&c);
		v.how = plus ? CFI_AT_PLUS : CFI_AT;
		v.plus = (int32_t)plus;
		if (plus != v.plus)
			return other;
	}
	return c.is_spent || c.at != c.end ? other : v;
}
