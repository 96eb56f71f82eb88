/* rooms: match base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "match/expression.h"

static const char *const ops[EXPRESSION_OPS] = {
	[EXPRESSION_NEGATE] = "neg",    [EXPRESSION_INVERT] = "~",
	[EXPRESSION_MULTIPLY] = "*",    [EXPRESSION_DIVIDE] = "/",
	[EXPRESSION_MODULO] = "%",      [EXPRESSION_ADD] = "+",
	[EXPRESSION_SUBTRACT] = "-",    [EXPRESSION_SHIFT_LEFT] = "<<",
	[EXPRESSION_AND] = "&",         [EXPRESSION_SHIFT_RIGHT] = ">>",
	[EXPRESSION_XOR] = "^",         [EXPRESSION_OR] = "|",
	[EXPRESSION_RETVAL] = "retval",
};

static void put_node(const struct expression *x, const struct expression_node *node, char *to,
		     size_t size)
{
	switch (node->op) {
	case EXPRESSION_NUMBER:
		(void)snprintf(to, size, "%lld", (long long)node->number);
		break;
	case EXPRESSION_NAME:
		(void)snprintf(to, size, "%.*s", (int)node->length, x->text + node->at);
		break;
	case EXPRESSION_ARGUMENT:
		(void)snprintf(to, size, "#%lld", (long long)node->number);
		break;
	case EXPRESSION_CAST:
		(void)snprintf(to, size, "(%c%d)", node->type.is_signed ? 's' : 'u',
			       8 * node->type.bytes);
		break;
	default:
		(void)snprintf(to, size, "%s", ops[node->op]);
	}
}

/* In postfix order, "a b +". */
static void check_nodes(const char *text, const char *wanted)
{
	struct expression x;
	struct error e = {};
	char is[1024] = "";

	if (expression_parse(text, &x, &e))
		fail_msg("'%s' was refused: %s", text, e.text);
	for (size_t i = 0; i < x.n; i++) {
		const size_t n = strlen(is);

		if (n)
			strcat(is, " ");
		put_node(&x, &x.nodes[i], is + n + (n > 0), sizeof(is) - n - 1);
	}
	assert_string_equal(is, wanted);
}

TEST(operations_bind_as_in_c)
{
	static const char *const rows[][2] = {
		{ "bytes", "bytes" },
		{ " arg1 ", "#1" },
		{ "retval", "retval" },
		{ "arg12", "#12" },
		{ "args", "args" },
		{ "arg", "arg" },
		{ "arg1x", "arg1x" },
		{ "1 + 2 * 3", "1 2 3 * +" },
		{ "1*2+3", "1 2 * 3 +" },
		{ "a - b - c", "a b - c -" },
		{ "a/b*c%d", "a b / c * d %" },
		{ "a|b^c&d<<e+f", "a b c d e f + << & ^ |" },
		{ "(a|b)&c", "a b | c &" },
		{ "-a*b", "a neg b *" },
		{ "~-a", "a neg ~" },
		{ "a--b", "a b neg -" },
		{ "a>>1>>2", "a 1 >> 2 >>" },
		{ "0x10 + 010", "16 8 +" },
		{ "18446744073709551615", "-1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_nodes(rows[i][0], rows[i][1]);
}

TEST(casts_are_types_in_parentheses)
{
	static const char *const rows[][2] = {
		{ "(int)retval", "retval (s32)" },
		{ "( unsigned  char )a+1", "a (u8) 1 +" },
		{ "(long long)a", "a (s64)" },
		{ "(unsigned)a", "a (u32)" },
		{ "(short)a", "a (s16)" },
		{ "(pid_t)a", "a (s32)" },
		{ "(u32)(s8)a", "a (s8) (u32)" },
		{ "(size_t)-a", "a neg (u64)" },
		{ "(int32_t)(a)", "a (s32)" },
		{ "(inte)", "inte" },
		{ "(u32)", NULL },
		{ "(long char)a", NULL },
		{ "(int unsigned signed)a", NULL },
		{ "(long long long)a", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct expression x;
		struct error e = {};

		if (rows[i][1])
			check_nodes(rows[i][0], rows[i][1]);
		else
			assert_int_equal(expression_parse(rows[i][0], &x, &e), -EINVAL);
	}
}

TEST(mistakes_get_a_caret)
{
	static const struct {
		const char *text;
		size_t at;
		const char *reason;
	} rows[] = {
		{ "arg0", 0, "arguments are counted from 1: the first one is arg1" },
		{ "arg33", 0, "no function has so many arguments" },
		{ "", 0, "the expression ends too early" },
		{ "a +", 3, "the expression ends too early" },
		{ "a b", 2, "an operator belongs here" },
		{ "a $", 2, "an operator belongs here" },
		{ "(a", 0, "this '(' has no ')'" },
		{ "a)", 1, "this ')' has no '('" },
		{ "a == 1", 2, "a value has no comparisons and no && || ! in it" },
		{ "a && b", 2, "a value has no comparisons and no && || ! in it" },
		{ "!a", 0, "a name, a number or '(' belongs here" },
		{ "12ab", 2, "this is no number" },
		{ "08", 1, "this is no number" },
		{ "1.5", 1, "this is no number" },
		{ "99999999999999999999", 0, "the number has more than 64 bits" },
		{ "(char long)a", 6, "an operator belongs here" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct expression x;
		struct error e = {};
		char wanted[512];

		assert_int_equal(expression_parse(rows[i].text, &x, &e), -EINVAL);
		(void)snprintf(wanted, sizeof(wanted), "'%s': %s\n  %s\n  %*s^", rows[i].text,
			       rows[i].reason, rows[i].text, (int)rows[i].at, "");
		assert_string_equal(e.text, wanted);
	}
}

TEST(what_is_too_deep_or_too_long_is_refused)
{
	struct expression x;
	struct error e;
	char text[1024];

	memset(text, '(', 200);
	strcpy(text + 200, "a");
	assert_int_equal(expression_parse(text, &x, &e), -EINVAL);
	memset(text, '~', 200);
	assert_int_equal(expression_parse(text, &x, &e), -EINVAL);
	memset(text, 'a', 300);
	text[300] = '\0';
	assert_int_equal(expression_parse(text, &x, &e), -EINVAL);
	/* Each operand waits for the last one. */
	text[0] = '\0';
	for (int i = 0; i < 20; i++)
		strcat(text, "1+(");
	strcat(text, "1");
	for (int i = 0; i < 20; i++)
		strcat(text, ")");
	assert_int_equal(expression_parse(text, &x, &e), -EINVAL);
	text[0] = '\0';
	for (int i = 0; i < 63; i++)
		strcat(text, "1+");
	strcat(text, "1");
	assert_int_equal(expression_parse(text, &x, &e), 0);
}

TEST_MAIN(NULL, NULL)
