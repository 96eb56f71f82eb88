// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A uprobe is a breakpoint. The kernel executes the instruction under it out of line, from a page
 * that it adds to the process (XOL), or it simulates the instruction. It refuses those that it can
 * do neither with: see arm_probe_decode_insn() in arch/arm64/kernel/probes/decode-insn.c. If no
 * process has mapped the file, it accepts the probe, but never sets it: the function would silently
 * have no hits.
 *
 * Loads of a literal are relative to the pc. Before Linux commit acc450aa0709 ("arm64: probes:
 * Remove broken LDR (literal) uprobe support") (in v6.12) the kernel simulates them wrongly. Those
 * to a vector register it takes for other loads, and executes them out of line, where they load
 * something else. The three instructions of a memcpy (FEAT_MOPS) must stand together.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/text.h"

struct form {
	uint32_t mask, value;
};

/* clang-format off */
static const struct form mistaken[] = {
	{ 0xbb000000, 0x18000000 }, /* ldr, literal: w, x, s, d */
	{ 0xff000000, 0x98000000 }, /* ldrsw, literal */
	{ 0xff000000, 0x9c000000 }, /* ldr, literal: q */
	{ 0x3b200c00, 0x19000400 }, /* cpyp, cpym, cpye, setp, ... */
};

static const struct form refused[] = {
	{ 0xff000000, 0xd4000000 }, /* svc, hvc, smc, brk, hlt */
	{ 0xfff00000, 0xd5100000 }, /* msr */
	{ 0xfff8f01f, 0xd500401f }, /* msr, of an immediate */
	{ 0xffffffe0, 0xd53b4220 }, /* mrs, of DAIF */
	{ 0xfe9ff800, 0xd61f0800 }, /* braa, blraa, retaa and their like */
	{ 0xff9f0000, 0xd69f0000 }, /* eret, eretaa, drps */
	{ 0x3f800000, 0x08000000 }, /* exclusive loads and stores */
	{ 0xff000000, 0xd8000000 }, /* prfm, literal */
};
/* clang-format on */

/* Of the hints, the kernel executes nop, bti, and those that make a signature or remove it. */
static bool is_refused_hint(uint32_t word)
{
	static const uint64_t fine = 1ULL << 0 | 1ULL << 7 | 1ULL << 8 | 1ULL << 10 | 0xfULL << 24 |
				     1ULL << 32 | 1ULL << 34 | 1ULL << 36 | 1ULL << 38;
	const uint32_t number = word >> 5 & 0x7f;

	return (word & 0xfffff01f) == 0xd503201f && (number > 63 || !(fine >> number & 1));
}

static bool has_instruction_form(const struct form *forms, size_t n, uint32_t word)
{
	for (size_t i = 0; i < n; i++)
		if ((word & forms[i].mask) == forms[i].value)
			return true;
	return false;
}

enum uprobe_verdict arch_uprobe_verdict(const uint8_t *bytes, size_t n, bool is_64_bit)
{
	uint32_t word;

	if (n < sizeof(word))
		return UPROBE_MISTAKEN;
	if (!is_64_bit)
		return UPROBE_REFUSED; /* arch_uprobe_analyze_insn(): -EOPNOTSUPP */
	memcpy(&word, bytes, sizeof(word));
	if (has_instruction_form(mistaken, ARRAY_SIZE(mistaken), word))
		return UPROBE_MISTAKEN;
	return is_refused_hint(word) || has_instruction_form(refused, ARRAY_SIZE(refused), word)
		       ? UPROBE_REFUSED
		       : UPROBE_FINE;
}

/* None: the stack of a kprobe begins at its registers. */
const char *const arch_trap_functions[] = { NULL };

/* --- arguments of USDT probes --- */

/*
 * Operands in the assembler's words:
 *
 *	-5, 16               a number
 *	x0, w19, sp          a register
 *	[x0], [x29,-8]       memory
 *
 * Others have a second register: [x0, x1].
 */
#define MOST_OFFSET 32760 /* of a load */

/* Parse "x19" at *@at, and move *@at behind it. The place is that in struct pt_regs. */
static bool parse_register(const char **at, bool may_be_half, uint16_t *ret)
{
	const char *name = *at;
	char *end;
	unsigned long n;

	if (strncmp(name, "sp", 2) == 0) {
		*at += 2;
		*ret = ARCH_STACK_POINTER;
		return true;
	}
	if ((name[0] != 'x' && (name[0] != 'w' || !may_be_half)) || name[1] < '0' || name[1] > '9')
		return false;
	n = strtoul(name + 1, &end, 10);
	if (n > 30)
		return false;
	*at = end;
	*ret = (uint16_t)(8 * n);
	return true;
}

static bool parse_memory(const char *at, struct arch_operand *ret)
{
	*ret = (struct arch_operand){ .kind = ARCH_OPERAND_MEMORY };
	at++;
	if (!parse_register(&at, false, &ret->base))
		return false;
	if (*at == ',') {
		at++;
		at += strspn(at, " ");
		if (!text_take_number(&at, &ret->number))
			return false;
	}
	return strcmp(at, "]") == 0 && ret->number >= -MOST_OFFSET && ret->number <= MOST_OFFSET;
}

bool arch_parse_operand(const char *text, struct arch_operand *ret)
{
	if (*text == '[')
		return parse_memory(text, ret);
	*ret = (struct arch_operand){ .kind = ARCH_OPERAND_REGISTER };
	if (parse_register(&text, true, &ret->base))
		return !*text;
	ret->kind = ARCH_OPERAND_NUMBER;
	return text_take_number(&text, &ret->number) && !*text;
}
