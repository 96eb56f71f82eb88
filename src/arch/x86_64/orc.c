// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "arch/arch.h"
#include "arch/kernel_step.h"

#define N_HEADERS 3

/*
 * The header is the SHA-1 of the declarations (scripts/orc_hash.sh). Since Linux commit
 * b9f174c811e3 ("x86/unwind/orc: Add ELF section with ORC version identifier") (in v6.4).
 */
static const struct {
	uint8_t hash[ORC_HEADER_BYTES];
	enum orc_layout layout;
} headers[N_HEADERS] = {
	/* clang-format off */
	{ { 0xdb, 0x84, 0xae, 0xd4, 0x10, 0x3b, 0x31, 0xdd, 0x51, 0xe0,
	    0x17, 0xf8, 0xf7, 0x97, 0x83, 0xca, 0x98, 0x5c, 0x2c, 0x51 }, ORC_OF_6_3 },
	{ { 0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6, 0x3b, 0x2c, 0xa9,
	    0xa5, 0xc6, 0x5b, 0xa5, 0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24 }, ORC_OF_6_4 },
	{ { 0x13, 0x7c, 0x36, 0xad, 0x76, 0x27, 0xc4, 0xdd, 0x55, 0x93,
	    0x21, 0x76, 0xbb, 0x0e, 0xcd, 0xbd, 0x50, 0x41, 0xfc, 0x82 }, ORC_OF_7_1 },
	/* clang-format on */
};

/* The kernel's registers, by their numbers in the layouts. */
enum orc_reg {
	REG_INVALID,
	REG_NONE,
	REG_PREV_SP, /* the CFA */
	REG_SP,
	REG_FP,
	REG_IN_SP,
	REG_AT_FP,
	REG_OTHER, /* known in interrupted code alone */
};

#define REGS 16

static const enum orc_reg registers[][REGS] = {
	[0] = { REG_NONE, REG_PREV_SP, REG_OTHER, REG_OTHER, REG_FP, REG_SP, REG_OTHER, REG_OTHER,
		REG_AT_FP, REG_IN_SP },
	/* Since Linux commit 1735858caa4b (in v7.1). */
	[1] = { REG_NONE, REG_OTHER, REG_OTHER, REG_SP, REG_FP, REG_OTHER, REG_OTHER, REG_OTHER,
		REG_PREV_SP, REG_IN_SP, REG_AT_FP },
};

/* An entry in the terms of the newest layout. */
struct orc_entry {
	int16_t sp_offset, fp_offset;
	enum orc_reg sp, fp;
	enum orc_kind kind;
	bool is_signal;
};

enum orc_layout orc_layout_of(const uint8_t header[ORC_HEADER_BYTES])
{
	for (size_t i = 0; i < N_HEADERS; i++)
		if (memcmp(header, headers[i].hash, ORC_HEADER_BYTES) == 0)
			return headers[i].layout;
	return ORC_UNKNOWN;
}

enum orc_layout orc_layout_by_members(bool has_type, bool has_signal, bool has_end)
{
	if (!has_type || (!has_signal && !has_end))
		return ORC_UNKNOWN;
	if (!has_signal)
		return ORC_OF_4_14;
	return has_end ? ORC_OF_6_3 : ORC_OF_6_4;
}

/* Before 6.4, an entry without a base is the end of a stack, or undefined. */
static enum orc_kind kind_before_6_4(unsigned type, bool has_base, bool is_end)
{
	static const enum orc_kind kinds[] = { ORC_CALL, ORC_REGS, ORC_IRET, ORC_UNDEFINED };

	if (!has_base)
		return is_end ? ORC_OUTERMOST : ORC_UNDEFINED;
	return kinds[type & 3];
}

static const enum orc_kind kinds_of_6_4[8] = {
	ORC_UNDEFINED, ORC_OUTERMOST, ORC_CALL,      ORC_REGS,
	ORC_IRET,      ORC_UNDEFINED, ORC_UNDEFINED, ORC_UNDEFINED,
};

static struct orc_entry read_orc_entry(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES])
{
	const enum orc_reg *regs = registers[layout == ORC_OF_7_1];
	const unsigned flags = bytes[4] | (unsigned)bytes[5] << 8;
	struct orc_entry ret = {
		.sp_offset = (int16_t)(bytes[0] | bytes[1] << 8),
		.fp_offset = (int16_t)(bytes[2] | bytes[3] << 8),
		.sp = regs[flags & 15],
		.fp = regs[flags >> 4 & 15],
	};

	if (layout == ORC_OF_4_14) {
		ret.kind = kind_before_6_4(flags >> 8, flags & 15, flags >> 10 & 1);
		ret.is_signal = ret.kind == ORC_REGS || ret.kind == ORC_IRET;
	} else if (layout == ORC_OF_6_3) {
		ret.kind = kind_before_6_4(flags >> 8, flags & 15, flags >> 11 & 1);
		ret.is_signal = flags >> 10 & 1;
	} else {
		ret.kind = kinds_of_6_4[flags >> 8 & 7];
		ret.is_signal = flags >> 11 & 1;
	}
	return ret;
}

static uint64_t put_kind(enum orc_kind kind)
{
	return (uint64_t)kind << 4;
}

static bool place_cfa(enum orc_reg reg, enum orc_base *ret)
{
	static const enum orc_base bases[] = {
		[REG_SP] = ORC_BASE_SP,       [REG_FP] = ORC_BASE_FP,
		[REG_IN_SP] = ORC_BASE_IN_SP, [REG_AT_FP] = ORC_BASE_AT_FP,
		[REG_OTHER] = ORC_BASE_UNFIT,
	};

	if (reg < REG_SP || reg > REG_OTHER)
		return false;
	*ret = bases[reg];
	return true;
}

uint64_t orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES])
{
	enum orc_base base;
	enum orc_fp fp = ORC_FP_KEPT;
	uint64_t rule;

	if (layout == ORC_UNKNOWN)
		return 0;

	const struct orc_entry e = read_orc_entry(layout, bytes);

	if (e.kind < ORC_CALL)
		return put_kind(e.kind);
	if (e.fp == REG_PREV_SP)
		fp = ORC_FP_AT_CFA;
	else if (e.fp == REG_FP)
		fp = ORC_FP_AT_FP;
	/* The kernel ends its walk at an entry with any other register for the caller's rbp. */
	if (!place_cfa(e.sp, &base) || (fp == ORC_FP_KEPT && e.fp != REG_NONE))
		return put_kind(ORC_UNDEFINED);
	rule = put_kind(e.kind) | (uint64_t)base << 8 | (uint64_t)fp << 12 |
	       (uint64_t)(uint16_t)e.fp_offset << 32 | (uint64_t)(uint16_t)e.sp_offset << 48;
	if (fp == ORC_FP_KEPT)
		rule &= ~((uint64_t)UINT16_MAX << 32);
	if (e.is_signal)
		return rule | ORC_SIGNAL;
	if (e.kind != ORC_CALL || (base != ORC_BASE_SP && base != ORC_BASE_FP) ||
	    fp == ORC_FP_AT_FP)
		return rule;
	return rule | ORC_QUICK | (base == ORC_BASE_FP ? ORC_BY_FP : 0) |
	       (fp == ORC_FP_AT_CFA ? ORC_FP_SAVED : 0);
}
