// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The DWARF expressions in CFI. Toolchains and hand-written assembly use these:
 *
 *	breg6 -8; deref                       the CFA of a realigned stack (gcc)
 *	breg7 +56; deref; plus_uconst 8       the same (OpenSSL)
 *	breg7 +160                            registers in signal frames (glibc)
 *
 * and an architecture's own in stubs of PLTs. An unwind table has no room for programs. So this
 * recognizes these forms, and all others are CFI_OTHER.
 */
#include "arch/arch.h"
#include "unwind/program.h"

enum {
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23,
	OP_BREG0 = 0x70,
	OP_BREG_LAST = OP_BREG0 + CFI_N_REGISTERS - 1,
};

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
	if (!is_address && arch_is_stub_expression(c.at, cursor_left(&c), &v.plus)) {
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
