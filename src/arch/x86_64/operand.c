// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operands in the assembler's words:
 *
 *	$-5, $0x10                a number
 *	%rdi, %edi, %di, %dil     a register
 *	-12(%rbp), (%rsp)         memory
 *	8(%rdx,%rcx,4), (%a,%b)   memory
 *
 * Others refer to symbols: x+4(%rip).
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/text.h"

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

static bool parse_comma(const char **at)
{
	const bool is_comma = **at == ',';

	*at += is_comma;
	return is_comma;
}

/* Parse ",%rcx,4" or ",%rcx", if one is there. */
static bool parse_index(const char **at, struct arch_operand *ret)
{
	struct register_name index;
	int64_t scale = 1;

	if (!parse_comma(at))
		return true;
	if (!parse_register(at, &index) || !index.is_whole ||
	    (parse_comma(at) && !text_take_number(at, &scale)))
		return false;
	ret->has_index = true;
	ret->index = (uint16_t)index.place;
	while (1 << ret->shift < scale && ret->shift < 3)
		ret->shift++;
	return 1 << ret->shift == scale;
}

static bool parse_memory(const char *at, struct arch_operand *ret)
{
	struct register_name base;

	*ret = (struct arch_operand){ .kind = ARCH_OPERAND_MEMORY };
	if (*at != '(' && !text_take_number(&at, &ret->number))
		return false;
	if (*at++ != '(' || !parse_register(&at, &base) || !base.is_whole || !parse_index(&at, ret))
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
