// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operands in the assembler's words:
 *
 *	-5, 16               a number
 *	x0, w19, sp          a register
 *	[sp, 12], [x29,-8]   memory
 *	[x0], [x0, x1]       memory
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/text.h"

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
		if (*at == 'x')
			ret->has_index = parse_register(&at, false, &ret->index);
		else if (!text_take_number(&at, &ret->number))
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
