// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arguments have blanks between them. One that is memory may have blanks within its brackets. */
#include "match/usdt_argument.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* The bytes up to the argument's end. */
static size_t argument_length(const char *at)
{
	size_t n = 0;
	bool is_within = false;

	for (; at[n] && (is_within || at[n] != ' '); n++)
		is_within = at[n] == '[' || (is_within && at[n] != ']');
	return n;
}

/* Parse "-4@", and return what is behind it. NULL: it is no such text. */
static const char *parse_size(const char *text, struct value_type *ret)
{
	const bool is_signed = text[0] == '-';
	const char *digit = text + is_signed;

	if (!digit[0] || !strchr("1248", digit[0]) || digit[1] != '@')
		return NULL;
	*ret = (struct value_type){ (uint8_t)(digit[0] - '0'), is_signed };
	return digit + 2;
}

static int64_t number_of_type(int64_t number, struct value_type type)
{
	const unsigned shift = 64U - 8U * type.bytes;
	const uint64_t left = (uint64_t)number << shift;

	return type.is_signed ? (int64_t)left >> shift : (int64_t)(left >> shift);
}

static void place_operand(const struct arch_operand *operand, struct value_type type,
			  struct expression_node *node)
{
	node->type = type;
	switch (operand->kind) {
	case ARCH_OPERAND_NUMBER:
		node->op = EXPRESSION_NUMBER;
		node->number = number_of_type(operand->number, type);
		break;
	case ARCH_OPERAND_REGISTER:
		node->op = EXPRESSION_CONTEXT;
		node->number = operand->base;
		break;
	case ARCH_OPERAND_MEMORY:
		node->op = EXPRESSION_USER_MEMORY;
		node->number = operand->number;
		node->base = operand->base;
		node->index = operand->index;
		node->shift = operand->shift;
		node->has_index = operand->has_index;
		break;
	}
}

static const char *parse_argument(struct usdt_argument *ret)
{
	struct arch_operand operand;
	const char *behind = parse_size(ret->text, &ret->type);

	if (!behind)
		return strchr(ret->text, 'f') && strchr(ret->text, '@')
			       ? "it is a floating-point number"
			       : "its size is not known";
	if (!arch_parse_operand(behind, &operand))
		return "its place has another form";
	place_operand(&operand, ret->type, &ret->node);
	return NULL;
}

bool usdt_argument_next(const char **at, struct usdt_argument *ret)
{
	const char *text = *at + strspn(*at, " ");
	const size_t n = argument_length(text);

	*ret = (struct usdt_argument){};
	*at = text + n;
	if (!n)
		return false;
	memcpy(ret->text, text, n < sizeof(ret->text) ? n : sizeof(ret->text) - 1);
	ret->unknown = n < sizeof(ret->text) ? parse_argument(ret) : "its place is too long a text";
	return true;
}
