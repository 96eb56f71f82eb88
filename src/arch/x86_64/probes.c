// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A uprobe is a breakpoint. The kernel executes the instruction under it out of line, from a page
 * that it adds to the process (XOL), or it emulates the instruction. The opcode decides
 * (arch/x86/kernel/uprobes.c). For an instruction with a VEX or EVEX prefix, the kernel looks up
 * *its* opcode in the table of plain instructions:
 *
 *	62 e2 7d 28 7a ce  vpbroadcastb %esi,%ymm17   7a: jp, which the kernel emulates
 *	c5 f9 70 c0 20     vpshufd $32,%xmm0,%xmm0    70: jo, by 32 bytes
 *	c4 e2 f1 9d c2     vfnmadd132sd ...           9d: popf, which may set TF; it stays set
 *	c5 f1 c2 c2 01     vcmpltpd ...               c2: ret; ip is left in the XOL page
 *	c5 f9 ef c0        vpxor %xmm0,%xmm0,%xmm0    ef: out, refused
 *
 * Then the program goes on with wrong values, in the wrong place, or ends by SIGTRAP. The kernel
 * also takes the plain "xchg %rax,%r8" (49 90) for a nop (90). Linux commit 8a5c6cbfe4a3
 * ("x86/insn,uprobes,alternative: Unify insn_is_nop()") ends that.
 *
 * The kernel takes XOP for pop, so it misses operands relative to ip. It does not know REX2 (d5)
 * yet.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/text.h"

/*
 *	c5 f9 74 c1        vpcmpeqb %xmm1,%xmm0,%xmm0       VEX of two bytes
 *	c4 e2 79 58 07     vpbroadcastd (%rdi),%xmm0        VEX of three
 *	62 e2 7d 28 7a ce  vpbroadcastb %esi,%ymm17         EVEX
 *	8f e9 78 c2 ...    (AMD's, of one family only)      XOP
 */
enum encoding { ENCODING_PLAIN, ENCODING_VECTOR, ENCODING_XOP };

struct encoded {
	enum encoding encoding;
	uint8_t rex;         /* the REX prefix of a plain instruction, 0 if it has none */
	uint8_t opcode;      /* the byte after all prefixes */
	bool has_repeat;     /* it has a repeat prefix, whatever that means here */
	bool has_bad_prefix; /* it has a lock prefix, or one of es, cs, ss or ds */
};

static bool take_legacy_prefix(uint8_t byte, struct encoded *e)
{
	switch (byte) {
	case 0x26: /* es */
	case 0x2e: /* cs */
	case 0x36: /* ss */
	case 0x3e: /* ds */
	case 0xf0: /* lock */
		e->has_bad_prefix = true;
		return true;
	case 0xf2: /* repne */
	case 0xf3: /* rep */
		e->has_repeat = true;
		return true;
	case 0x64: /* fs */
	case 0x65: /* gs */
	case 0x66: /* operand size */
	case 0x67: /* address size */
		return true;
	default:
		return false;
	}
}

/* Returns the bytes of the prefix before the opcode, 0 for a plain instruction. */
static size_t read_vector_prefix(const uint8_t *bytes, size_t n, bool is_64_bit, struct encoded *e)
{
	const uint8_t second = n > 1 ? bytes[1] : 0xff;

	/* It is pop if the three bits of ModRM that belong to the opcode are 0. */
	if (bytes[0] == 0x8f && second & 0x38) {
		e->encoding = ENCODING_XOP;
		return 3;
	}
	/* In 32-bit mode, these are lds, les and bound if a memory operand follows. */
	if ((bytes[0] != 0xc5 && bytes[0] != 0xc4 && bytes[0] != 0x62) ||
	    (!is_64_bit && second < 0xc0))
		return 0;
	e->encoding = ENCODING_VECTOR;
	return bytes[0] == 0xc5 ? 2 : bytes[0] == 0xc4 ? 3 : 4;
}

/*
 * Read the prefixes and the opcode, as the kernel does: also where the bytes are no instruction.
 * False: @n bytes do not reach the opcode.
 */
static bool read_encoding(const uint8_t *bytes, size_t n, bool is_64_bit, struct encoded *ret)
{
	size_t at = 0;

	*ret = (struct encoded){};
	while (at < n && take_legacy_prefix(bytes[at], ret))
		at++;
	while (is_64_bit && at < n && (bytes[at] & 0xf0) == 0x40)
		ret->rex = bytes[at++];
	if (at < n)
		at += read_vector_prefix(bytes + at, n - at, is_64_bit, ret);
	if (at >= n)
		return false;
	ret->opcode = bytes[at];
	return true;
}

/* Opcodes with a rule of their own in branch_setup_xol_ops() or arch_uprobe_analyze_insn(). */
static const bool have_rule[256] = {
	[0x70 ... 0x7f] = true, /* jcc */
	[0x90] = true,          /* nop */
	[0x9a] = true,          /* call, far */
	[0x9d] = true,          /* popf */
	[0xc2 ... 0xc3] = true, /* ret */
	[0xca ... 0xcb] = true, /* ret, far */
	[0xe8 ... 0xeb] = true, /* call; jmp, near and far */
	[0xff] = true,          /* call and jmp, indirect, among others */
};

/* Zeros in good_insns_64[]. */
static const bool are_refused[256] = {
	[0x06 ... 0x07] = true, [0x0e] = true,          [0x16 ... 0x17] = true,
	[0x1e ... 0x1f] = true, [0x27] = true,          [0x2f] = true,
	[0x37] = true,          [0x3f] = true,          [0x60 ... 0x62] = true,
	[0x6c ... 0x6f] = true, [0x82] = true,          [0xcc ... 0xcf] = true,
	[0xd4 ... 0xd6] = true, [0xe4 ... 0xe7] = true, [0xec ... 0xef] = true,
	[0xf1] = true,          [0xf4] = true,          [0xfa ... 0xfb] = true,
};

static enum uprobe_verdict plain_verdict(const struct encoded *e, bool is_64_bit)
{
	if ((e->opcode == 0x90 && e->rex & 1) || (e->opcode == 0xd5 && is_64_bit))
		return UPROBE_MISTAKEN;
	/*
	 * "rep stosb" and others. When single-stepped, they stop after each turn, with ip at the
	 * breakpoint. They work, but one call would be counted once for each byte.
	 */
	if (e->has_repeat &&
	    ((e->opcode >= 0x6c && e->opcode <= 0x6f) || (e->opcode >= 0xa4 && e->opcode <= 0xa7) ||
	     (e->opcode >= 0xaa && e->opcode <= 0xaf)))
		return UPROBE_REFUSED;
	return is_64_bit && are_refused[e->opcode] ? UPROBE_REFUSED : UPROBE_FINE;
}

/*
 * The kernel refuses an instruction with a lock prefix, or with a segment prefix that 64-bit mode
 * ignores (is_prefix_bad()). If no process has mapped the file, it accepts the probe, but never
 * sets it: the function would silently have no hits. Newer kernels accept long NOPs with cs.
 */
enum uprobe_verdict arch_uprobe_verdict(const uint8_t *bytes, size_t n, bool is_64_bit)
{
	struct encoded e;

	if (!read_encoding(bytes, n, is_64_bit, &e) || e.encoding == ENCODING_XOP)
		return UPROBE_MISTAKEN;
	if (e.has_bad_prefix)
		return UPROBE_REFUSED;
	if (e.encoding == ENCODING_PLAIN)
		return plain_verdict(&e, is_64_bit);
	if (have_rule[e.opcode])
		return UPROBE_MISTAKEN;
	return is_64_bit && are_refused[e.opcode] ? UPROBE_REFUSED : UPROBE_FINE;
}

/*
 * Most string functions of libc begin like this on a CPU with AVX-512:
 *
 *	__strchrnul_evex:
 *	+0  62 e2 7d 28 7a ce  vpbroadcastb %esi,%ymm17
 *	+6  89 f8              mov    %edi,%eax            <- the probe
 */
size_t arch_skippable(const uint8_t *code, size_t n, bool is_entry, size_t ends[ARCH_MOST_SKIPPED])
{
	size_t at = 0;

	for (size_t i = 0;; i++) {
		const struct instruction next = instruction_at(code + at, n - at, 0);

		if (next.kind != INSTRUCTION_NOP && !(is_entry && next.is_vector))
			return arch_uprobe_verdict(code + at, n - at, true) == UPROBE_FINE ? i : 0;
		if (i == ARCH_MOST_SKIPPED)
			return 0;
		at += next.length;
		ends[i] = at;
	}
}

const char *const arch_trap_functions[] = { "kprobe_int3_handler", "do_int3", "exc_int3",
					    "asm_exc_int3", NULL };

/* --- arguments of USDT probes --- */

/*
 * Operands in the assembler's words:
 *
 *	$-5, $0x10                a number
 *	%rdi, %edi, %di, %dil     a register
 *	-12(%rbp), (%rsp)         memory
 *
 * Others refer to symbols, as x+4(%rip), or have a second register: 8(%rdx,%rcx,4).
 */
/* Where struct pt_regs has r8 to r15. */
static const int32_t numbered[] = { 72, 64, 56, 48, 24, 16, 8, 0 };

static const struct {
	char names[5][4];
	int32_t place;
} named[] = {
	{ { "rax", "eax", "ax", "al", "ah" }, 80 }, { { "rbx", "ebx", "bx", "bl", "bh" }, 40 },
	{ { "rcx", "ecx", "cx", "cl", "ch" }, 88 }, { { "rdx", "edx", "dx", "dl", "dh" }, 96 },
	{ { "rsi", "esi", "si", "sil" }, 104 },     { { "rdi", "edi", "di", "dil" }, 112 },
	{ { "rbp", "ebp", "bp", "bpl" }, 32 },      { { "rsp", "esp", "sp", "spl" }, 152 },
};

struct register_name {
	int32_t place;
	bool is_whole; /* all 64 bits */
};

static bool find_numbered(const char *name, struct register_name *ret)
{
	char *end;
	const unsigned long n = strtoul(name + 1, &end, 10);

	if (name[0] != 'r' || name[1] < '1' || name[1] > '9' || n < 8 || n > 15 ||
	    (*end && (!strchr("dwb", *end) || end[1])))
		return false;
	*ret = (struct register_name){ numbered[n - 8], !*end };
	return true;
}

/* Parse "%edi" at *@at, and move *@at behind it. */
static bool parse_register(const char **at, struct register_name *ret)
{
	const size_t n = **at == '%' ? strspn(*at + 1, "abcdehilprswx0123456789") : 0;
	char name[5] = {};

	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, *at + 1, n);
	*at += 1 + n;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		for (size_t j = 0; j < 5; j++)
			if (strcmp(named[i].names[j], name) == 0) {
				*ret = (struct register_name){ named[i].place + (j == 4), j == 0 };
				return true;
			}
	return find_numbered(name, ret);
}

static bool parse_memory(const char *at, struct arch_operand *ret)
{
	struct register_name base;

	*ret = (struct arch_operand){ .kind = ARCH_OPERAND_MEMORY };
	if (*at != '(' && !text_take_number(&at, &ret->number))
		return false;
	if (*at++ != '(' || !parse_register(&at, &base) || !base.is_whole)
		return false;
	ret->base = (uint16_t)base.place;
	return strcmp(at, ")") == 0 && ret->number == (int32_t)ret->number;
}

bool arch_parse_operand(const char *text, struct arch_operand *ret)
{
	struct register_name name;

	*ret = (struct arch_operand){ .kind = ARCH_OPERAND_NUMBER };
	if (*text == '$') {
		text++;
		return text_take_number(&text, &ret->number) && !*text;
	}
	if (*text != '%')
		return parse_memory(text, ret);
	if (!parse_register(&text, &name) || *text)
		return false;
	ret->kind = ARCH_OPERAND_REGISTER;
	ret->base = (uint16_t)name.place;
	return true;
}
