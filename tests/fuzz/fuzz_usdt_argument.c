// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The arguments in the note of a USDT probe may be any text. Each has a number or a place from
 * which code can be made, or the reason why it has none.
 */
#include "fuzz.h"

#include "attach/value_code.h"
#include "match/values.h"

static void check_argument(const struct usdt_argument *a)
{
	struct expression x = { .nodes = { a->node }, .n = 1 };
	struct value_code code;
	struct error e;

	require(a->text[0] && memchr(a->text, '\0', sizeof(a->text)));
	if (a->unknown)
		return;
	require(a->node.type.bytes && a->node.type.bytes <= 8);
	require(a->node.op == EXPRESSION_NUMBER || a->node.op == EXPRESSION_CONTEXT ||
		a->node.op == EXPRESSION_USER_MEMORY);
	require(a->node.op != EXPRESSION_CONTEXT || (a->node.number >= 0 && a->node.number < 256));
	require(a->node.base < 256);
	require(value_code_make(&x, 1, false, &code, &e) == 0 && code.n);
	value_code_fini(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	const char *at = text, *before = text;
	struct usdt_argument argument;

	while (usdt_argument_next(&at, &argument)) {
		require(at > before);
		before = at;
		check_argument(&argument);
	}
	require(!*at);
	free(text);
	return 0;
}
