/* rooms: base; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The pure functions of src/arch/aarch64, on any machine. Instructions as words. */
#include "test.h"

#include <elf.h>
#include <sys/types.h>

#include <linux/types.h>

/* From here on, this is aarch64 for arch/registers.h. */
#undef __x86_64__
#undef __aarch64__
#define __aarch64__ 1

#include "../../src/arch/aarch64/code.c"
#include "../../src/arch/aarch64/probes.c"

TEST(operands_of_usdt_probes_are_read)
{
	static const struct {
		const char *text;
		struct arch_operand is;
	} rows[] = {
		{ "-5", { .kind = ARCH_OPERAND_NUMBER, .number = -5 } },
		{ "x0", { .kind = ARCH_OPERAND_REGISTER, .base = 0 } },
		{ "w19", { .kind = ARCH_OPERAND_REGISTER, .base = 152 } },
		{ "sp", { .kind = ARCH_OPERAND_REGISTER, .base = 248 } },
		{ "[x1]", { .kind = ARCH_OPERAND_MEMORY, .base = 8 } },
		{ "[sp, 16]", { .kind = ARCH_OPERAND_MEMORY, .base = 248, .number = 16 } },
		{ "[x29,-8]", { .kind = ARCH_OPERAND_MEMORY, .base = 232, .number = -8 } },
	};
	static const char *const others[] = { "",      "x31",      "x",     "[w1]", "[x1",
					      "[x1]x", "[x1, x2]", "known", "5x",   "d0" };
	struct arch_operand is;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(arch_parse_operand(rows[i].text, &is));
		assert_int_equal(is.kind, rows[i].is.kind);
		assert_int_equal(is.number, rows[i].is.number);
		assert_int_equal(is.base, rows[i].is.base);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(arch_parse_operand(others[i], &is));
}

TEST(the_slot_of_a_stub_is_found)
{
	/* libelf.so.1 at 0x2ca0: memcpy@plt */
	const uint32_t plain[] = { 0xd0000170, 0xf9400211, 0x91000210, 0xd61f0220 };
	/* a slot in a page before, behind bti c */
	const uint32_t tracked[] = { 0xd503245f, 0xf0fffff0, 0xf946ca11, 0x91364210, 0xd61f0220 };
	uint64_t slot = 0;

	assert_true(arch_stub_slot((const uint8_t *)plain, sizeof(plain), 0x2ca0, &slot));
	assert_int_equal(slot, 0x30000);
	assert_true(arch_stub_slot((const uint8_t *)tracked, sizeof(tracked), 0x211a00, &slot));
	assert_int_equal(slot, 0x210d90);
}

TEST(other_code_is_no_stub)
{
	/* The first entry of a PLT, and stubs with one instruction changed. */
	const uint32_t codes[][5] = {
		{ 0xa9bf7bf0, 0xd0000170, 0xf947fe11, 0x913fe210, 0xd61f0220 },
		{ 0xd0000171, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503201f },
		{ 0x50000170, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503201f },
		{ 0xd0000170, 0xb9400211, 0x91000210, 0xd61f0220, 0xd503201f },
		{ 0xd0000170, 0xf9400211, 0x91000210, 0xd61f0200, 0xd503201f },
	};
	uint64_t slot;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		assert_false(
			arch_stub_slot((const uint8_t *)codes[i], sizeof(codes[i]), 0x2ca0, &slot));
	assert_false(arch_stub_slot((const uint8_t *)(codes[1] + 1), 12, 0x2ca0, &slot));
}

static bool is_behind(uint32_t word)
{
	return arch_is_behind_call((const uint8_t *)(&word + 1), sizeof(word));
}

TEST(calls_are_recognized)
{
	assert_true(is_behind(0x97ffee80));  /* bl */
	assert_true(is_behind(0xd63f0000));  /* blr x0 */
	assert_true(is_behind(0xd63f03c0));  /* blr x30 */
	assert_true(is_behind(0xd73f0a21));  /* blraa x17, x1 */
	assert_true(is_behind(0xd4000001));  /* svc */
	assert_false(is_behind(0x17ffee80)); /* b */
	assert_false(is_behind(0xd61f0220)); /* br x17 */
	assert_false(is_behind(0xd65f03c0)); /* ret */
	assert_false(is_behind(0xd503201f)); /* nop */
	assert_false(arch_is_behind_call((const uint8_t *)"", 0));
}

TEST(the_start_of_the_dynamic_linker_is_recognized)
{
	const uint32_t code[] = { 0xd503201f, 0xd280001d, 0xd280001e, 0x910003e0, 0x97ffee80 };
	uint32_t other[ARRAY_SIZE(code)];

	assert_int_equal(arch_linker_start((const uint8_t *)code, sizeof(code)), 20);
	assert_int_equal(arch_linker_start((const uint8_t *)(code + 1), sizeof(code) - 4), 16);
	for (size_t i = 0; i < ARRAY_SIZE(code); i++) {
		memcpy(other, code, sizeof(code));
		other[i] ^= 1U << 31;
		assert_int_equal(arch_linker_start((const uint8_t *)other, sizeof(other)), 0);
		assert_int_equal(arch_linker_start((const uint8_t *)code, i * 4), 0);
	}
}

TEST(first_instructions_are_judged_as_the_kernel_does)
{
	static const struct {
		uint32_t word;
		enum uprobe_verdict verdict;
	} cases[] = {
		{ 0xd503233f, UPROBE_FINE },     /* paciasp */
		{ 0xd503245f, UPROBE_FINE },     /* bti c */
		{ 0xd503201f, UPROBE_FINE },     /* nop */
		{ 0xa9bf7bfd, UPROBE_FINE },     /* stp x29, x30, [sp, #-16]! */
		{ 0x10000060, UPROBE_FINE },     /* adr */
		{ 0x90000110, UPROBE_FINE },     /* adrp */
		{ 0x14000010, UPROBE_FINE },     /* b */
		{ 0x97ffee80, UPROBE_FINE },     /* bl */
		{ 0xd61f0220, UPROBE_FINE },     /* br x17 */
		{ 0xd65f03c0, UPROBE_FINE },     /* ret */
		{ 0xb4000040, UPROBE_FINE },     /* cbz */
		{ 0xf9400000, UPROBE_FINE },     /* ldr x0, [x0] */
		{ 0x3dc00000, UPROBE_FINE },     /* ldr q0, [x0] */
		{ 0xd53bd041, UPROBE_FINE },     /* mrs x1, tpidr_el0 */
		{ 0xc8dffc00, UPROBE_FINE },     /* ldar: not exclusive */
		{ 0xc8e07c41, UPROBE_FINE },     /* casa */
		{ 0x58000040, UPROBE_MISTAKEN }, /* ldr x0, literal */
		{ 0x18000040, UPROBE_MISTAKEN }, /* ldr w0, literal */
		{ 0x98000040, UPROBE_MISTAKEN }, /* ldrsw */
		{ 0x1c000040, UPROBE_MISTAKEN }, /* ldr s0, literal */
		{ 0x5c000040, UPROBE_MISTAKEN }, /* ldr d0, literal */
		{ 0x9c000040, UPROBE_MISTAKEN }, /* ldr q0, literal */
		{ 0x19010440, UPROBE_MISTAKEN }, /* cpyfp */
		{ 0xd4000001, UPROBE_REFUSED },  /* svc */
		{ 0xd4200020, UPROBE_REFUSED },  /* brk */
		{ 0xd51bd040, UPROBE_REFUSED },  /* msr tpidr_el0, x0 */
		{ 0xd50320bf, UPROBE_REFUSED },  /* hint #5, sevl */
		{ 0xd503203f, UPROBE_REFUSED },  /* yield */
		{ 0xd50323bf, UPROBE_REFUSED },  /* autiasp */
		{ 0xd65f0bff, UPROBE_REFUSED },  /* retaa */
		{ 0xd71f0a21, UPROBE_REFUSED },  /* braa x17, x1 */
		{ 0xd69f03e0, UPROBE_REFUSED },  /* eret */
		{ 0xc85f7fe1, UPROBE_REFUSED },  /* ldxr x1, [sp] */
		{ 0xc8007c41, UPROBE_REFUSED },  /* stxr */
		{ 0xd8000040, UPROBE_REFUSED },  /* prfm, literal */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint8_t *code = (const uint8_t *)&cases[i].word;

		if (arch_uprobe_verdict(code, 4, true) != cases[i].verdict)
			fail_msg("%08x is judged otherwise", cases[i].word);
	}
	assert_int_equal(arch_uprobe_verdict((const uint8_t *)"\x1f\x20\x03", 3, true),
			 UPROBE_MISTAKEN);
}

TEST_MAIN(NULL, NULL)
