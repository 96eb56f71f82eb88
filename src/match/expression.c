// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations wait on a stack until one comes that binds less tightly (Dijkstra's shunting yard). So
 * nodes come in postfix order, and nothing recurs. A '(' begins a cast if a type stands
 * between it and its ')'. So a field that has the name of a type is written without parentheses.
 */
#include "match/expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "match/spec.h"

#define MOST_TEXT 256
#define MOST_WAITING 64

/* An operation that waits for its last operand, or a '('. */
struct waiting {
	struct expression_node node;
	unsigned binds; /* 0: a '(' */
};

struct expression_parser {
	struct expression *x;
	size_t at;    /* the next byte of the text */
	size_t depth; /* values that wait for their operation */
	struct waiting waiting[MOST_WAITING];
	size_t n_waiting;
	struct error *e;
};

const struct expression_node *expression_leaf(const struct expression *x)
{
	for (size_t i = 1; i < x->n; i++)
		if (x->nodes[i].op != EXPRESSION_CAST)
			return NULL;
	return &x->nodes[0];
}

static int refuse_expression(const struct expression_parser *p, size_t at, const char *reason)
{
	return caret_refuse_at(p->x->text, at, reason, p->e);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char next_character(struct expression_parser *p)
{
	while (is_blank(p->x->text[p->at]))
		p->at++;
	return p->x->text[p->at];
}

static int put_expression_node(struct expression_parser *p, struct expression_node node)
{
	const size_t n = expression_operands((enum expression_op)node.op);

	p->depth = p->depth + 1 - n;
	if (p->x->n == EXPRESSION_MOST_NODES || p->depth > EXPRESSION_MOST_DEPTH)
		return refuse_expression(p, node.at, "the expression is too long");
	p->x->nodes[p->x->n++] = node;
	return 0;
}

/* --- types --- */

static bool is_name_begin(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *at)
{
	size_t n = 0;

	while (is_name_begin(at[n]) || isdigit((unsigned char)at[n]))
		n++;
	return n;
}

static const struct {
	struct value_type type;
	const char *names;
} types[] = {
	{ { 1, true }, "char,signed char,s8,int8_t" },
	{ { 1, false }, "unsigned char,u8,uint8_t" },
	{ { 2, true }, "short,s16,int16_t" },
	{ { 2, false }, "unsigned short,u16,uint16_t,umode_t" },
	{ { 4, true },
	  "int,s32,int32_t,__s32,pid_t,clockid_t,timer_t,mqd_t,key_t,key_serial_t,rwf_t" },
	{ { 4, false }, "unsigned int,unsigned,u32,uint32_t,__u32,uid_t,gid_t,qid_t" },
	{ { 8, true }, "long,long long,s64,int64_t,ssize_t,off_t,loff_t" },
	{ { 8, false }, "unsigned long,unsigned long long,u64,uint64_t,size_t" },
};

bool value_type_named(const char *name, size_t n, struct value_type *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const char *at = types[i].names;

		for (size_t length; (length = strcspn(at, ",")) != 0; at += length + !!at[length])
			if (length == n && memcmp(at, name, n) == 0) {
				*ret = types[i].type;
				return true;
			}
	}
	return false;
}

/*
 * The text at @at is behind a '('. If a type and the ')' follow, returns the bytes up to behind the
 * ')'. Else 0.
 */
static size_t type_length(const char *at, struct value_type *ret)
{
	char name[32];
	size_t n = 0, i;

	for (i = 0; at[i] && at[i] != ')' && n < sizeof(name); i++)
		if (!is_blank(at[i]))
			name[n++] = at[i];
		else if (n && name[n - 1] != ' ')
			name[n++] = ' ';
	n -= n && name[n - 1] == ' ';
	return at[i] == ')' && value_type_named(name, n, ret) ? i + 1 : 0;
}

/* --- leaves --- */

static int parse_expression_number(struct expression_parser *p)
{
	const char *text = p->x->text + p->at;
	char *end;

	errno = 0;

	const uint64_t value = strtoull(text, &end, 0);
	const struct expression_node node = {
		.op = EXPRESSION_NUMBER,
		.number = (int64_t)value,
		.at = (uint32_t)p->at,
		.length = (uint32_t)(end - text),
		.type = { 8, value <= INT64_MAX },
	};

	if (errno)
		return refuse_expression(p, p->at, "the number has more than 64 bits");
	if (is_name_begin(*end) || isdigit((unsigned char)*end) || *end == '.')
		return refuse_expression(p, p->at + (size_t)(end - text), "this is no number");
	p->at += (size_t)(end - text);
	return put_expression_node(p, node);
}

/* The number of "arg3". -1: it is no such name. */
static long argument_number(const char *name, size_t n)
{
	long number = 0;

	if (n < 4 || memcmp(name, "arg", 3) != 0)
		return -1;
	for (size_t i = 3; i < n; i++) {
		if (!isdigit((unsigned char)name[i]))
			return -1;
		number = number > 1000 ? number : number * 10 + (name[i] - '0');
	}
	return number;
}

static int parse_name(struct expression_parser *p)
{
	const char *name = p->x->text + p->at;
	const size_t n = name_length(name);
	const long argument = argument_number(name, n);
	struct expression_node node = { .op = EXPRESSION_NAME,
					.at = (uint32_t)p->at,
					.length = (uint32_t)n };

	if (argument == 0)
		return refuse_expression(p, p->at,
					 "arguments are counted from 1: the first one is arg1");
	if (argument > EXPRESSION_MOST_ARGUMENTS)
		return refuse_expression(p, p->at, "no function has so many arguments");
	if (argument > 0) {
		node.op = EXPRESSION_ARGUMENT;
		node.number = argument;
	} else if (n == 6 && memcmp(name, "retval", n) == 0) {
		node.op = EXPRESSION_RETVAL;
	}
	p->at += n;
	return put_expression_node(p, node);
}

/* --- operations --- */

/* C's operations of two operands. A greater .binds binds more tightly. */
static const struct binary_op {
	const char *text;
	enum expression_op op;
	unsigned binds;
} binary_ops[] = {
	{ "<<", EXPRESSION_SHIFT_LEFT, 4 }, { ">>", EXPRESSION_SHIFT_RIGHT, 4 },
	{ "*", EXPRESSION_MULTIPLY, 6 },    { "/", EXPRESSION_DIVIDE, 6 },
	{ "%", EXPRESSION_MODULO, 6 },      { "+", EXPRESSION_ADD, 5 },
	{ "-", EXPRESSION_SUBTRACT, 5 },    { "&", EXPRESSION_AND, 3 },
	{ "^", EXPRESSION_XOR, 2 },         { "|", EXPRESSION_OR, 1 },
};

#define BINDS_UNARY 7

/* Put the operations that wait, down to a '(' or one that binds less tightly than @binds. */
static int put_waiting(struct expression_parser *p, unsigned binds)
{
	int err = 0;

	while (!err && p->n_waiting && p->waiting[p->n_waiting - 1].binds >= binds &&
	       p->waiting[p->n_waiting - 1].binds)
		err = put_expression_node(p, p->waiting[--p->n_waiting].node);
	return err;
}

/* Let an operation of @n bytes wait for its next operand. @binds: 0 for a '('. */
static int let_wait(struct expression_parser *p, struct expression_node node, unsigned binds,
		    size_t n)
{
	if (p->n_waiting == MOST_WAITING)
		return refuse_expression(p, p->at, "nested too deep");
	node.at = (uint32_t)p->at;
	p->waiting[p->n_waiting++] = (struct waiting){ node, binds };
	p->at += n;
	return 0;
}

static int open_parenthesis(struct expression_parser *p)
{
	struct expression_node node = { .op = EXPRESSION_CAST };
	const size_t n = type_length(p->x->text + p->at + 1, &node.type);

	return n ? let_wait(p, node, BINDS_UNARY, n + 1) : let_wait(p, node, 0, 1);
}

/* Parse what may stand before an operand, or an operand. Then *@has_operand is true. */
static int parse_operand(struct expression_parser *p, bool *has_operand)
{
	const char c = next_character(p);

	if (c == '(')
		return open_parenthesis(p);
	if (c == '-' || c == '~') {
		const struct expression_node node = { .op = c == '-' ? EXPRESSION_NEGATE
								     : EXPRESSION_INVERT };

		return let_wait(p, node, BINDS_UNARY, 1);
	}
	*has_operand = true;
	if (isdigit((unsigned char)c))
		return parse_expression_number(p);
	if (is_name_begin(c))
		return parse_name(p);
	return refuse_expression(p, p->at,
				 c ? "a name, a number or '(' belongs here"
				   : "the expression ends too early");
}

static const struct binary_op *next_binary(const struct expression_parser *p)
{
	const char *at = p->x->text + p->at;

	if (strncmp(at, "&&", 2) == 0 || strncmp(at, "||", 2) == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(binary_ops); i++)
		if (strncmp(at, binary_ops[i].text, strlen(binary_ops[i].text)) == 0)
			return &binary_ops[i];
	return NULL;
}

static int close_parenthesis(struct expression_parser *p)
{
	const int err = put_waiting(p, 1);

	if (err)
		return err;
	if (!p->n_waiting)
		return refuse_expression(p, p->at, "this ')' has no '('");
	p->n_waiting--;
	p->at++;
	return 0;
}

static int refuse_rest(const struct expression_parser *p)
{
	const char *at = p->x->text + p->at;

	if (strchr("<>=!&|?", *at))
		return refuse_expression(p, p->at,
					 "a value has no comparisons and no && || ! in it");
	return refuse_expression(p, p->at, "an operator belongs here");
}

/* Parse what may stand behind an operand. *@has_operand: still an operand's end. */
static int parse_operator(struct expression_parser *p, bool *has_operand)
{
	const struct binary_op *op;
	int err;

	if (next_character(p) == ')')
		return close_parenthesis(p);
	op = next_binary(p);
	if (!op)
		return refuse_rest(p);
	err = put_waiting(p, op->binds);
	*has_operand = false;
	return err ? err
		   : let_wait(p, (struct expression_node){ .op = op->op }, op->binds,
			      strlen(op->text));
}

/* The end of the text, behind an operand. */
static int end_expression(struct expression_parser *p)
{
	const int err = put_waiting(p, 1);

	if (err || !p->n_waiting)
		return err;
	return refuse_expression(p, p->waiting[p->n_waiting - 1].node.at, "this '(' has no ')'");
}

int expression_parse(const char *text, struct expression *ret, struct error *e)
{
	struct expression_parser p = { .x = ret, .e = e };
	bool has_operand = false;
	int err = 0;

	*ret = (struct expression){ .text = text };
	if (strlen(text) > MOST_TEXT)
		return error_set(e, -EINVAL, "the expression '%.32s...' is too long", text);
	while (!err && (!has_operand || next_character(&p)))
		err = has_operand ? parse_operator(&p, &has_operand)
				  : parse_operand(&p, &has_operand);
	return err ? err : end_expression(&p);
}
