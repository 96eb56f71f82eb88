/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/expression.h - parse the text of an expression (--sum EXPR) into nodes. Pure.
 *
 *	bytes                           a field of a tracepoint, an argument of a kernel function
 *	arg1                            an argument by number, from 1 on
 *	retval                          what a function returns
 *	(int)retval, (u32)arg2          casts
 *	nr_sector * 512                 - ~ * / % + - << >> & ^ | with C's precedence, and ( )
 *
 * Names are looked up for each target (match/values.h). Their nodes become places then, and
 * attach/value_code.h makes instructions of those.
 *
 * Each value has 64 bits while it is calculated with. A narrower one is extended by its own sign. A
 * result is unsigned if an operand is unsigned and has 64 bits. It wraps around if it is too large.
 * As in BPF, x / 0 is 0, and x % 0 is x. A shift by n is one by n % 64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct value_type {
	uint8_t bytes; /* 1, 2, 4 or 8 */
	bool is_signed;
};

/* The type of @name, of @n bytes: "unsigned int", "u32", "pid_t". False: it is not known. */
bool value_type_named(const char *name, size_t n, struct value_type *ret);

enum expression_op {
	/* Leaves, as typed. */
	EXPRESSION_NUMBER,   /* .number, .type */
	EXPRESSION_NAME,     /* .at, .length */
	EXPRESSION_ARGUMENT, /* .number, from 1 on */
	EXPRESSION_RETVAL,
	/* Leaves that are places, instead of the last three. All but the last have a .type. */
	EXPRESSION_CONTEXT,       /* at byte .number of the program's context */
	EXPRESSION_USER_MEMORY,   /* at .number + the register that is at .base in the context */
	EXPRESSION_KERNEL_MEMORY, /* likewise */
	EXPRESSION_UNKNOWN,       /* here the value is not known */
	/* Of one operand. */
	EXPRESSION_CAST, /* to .type */
	EXPRESSION_NEGATE,
	EXPRESSION_INVERT,
	/* Of two operands. */
	EXPRESSION_MULTIPLY,
	EXPRESSION_DIVIDE,
	EXPRESSION_MODULO,
	EXPRESSION_ADD,
	EXPRESSION_SUBTRACT,
	EXPRESSION_SHIFT_LEFT,
	EXPRESSION_SHIFT_RIGHT,
	EXPRESSION_AND,
	EXPRESSION_XOR,
	EXPRESSION_OR,
	EXPRESSION_OPS,
};

/* Padding is zero, so equal nodes have equal bytes. */
struct expression_node {
	int64_t number;
	uint32_t op;         /* enum expression_op */
	uint32_t at, length; /* where in the text */
	uint32_t base;
	struct value_type type;
	uint8_t zero[6];
};

#define EXPRESSION_MOST_NODES 128
#define EXPRESSION_MOST_DEPTH 16 /* values that wait for their operation */
#define EXPRESSION_MOST_ARGUMENTS 32
#define VALUES_MOST 256 /* different ones for the targets of a run: a number is an index */

/* Nodes in postfix order: operands before their operation, which is last. */
struct expression {
	const char *text; /* lent by the caller of expression_parse() */
	struct expression_node nodes[EXPRESSION_MOST_NODES];
	size_t n;
};

/* How many operands a node of @op takes from those before it: 0, 1 or 2. */
static inline size_t expression_operands(enum expression_op op)
{
	if (op < EXPRESSION_CAST)
		return 0;
	return op < EXPRESSION_MULTIPLY ? 1 : 2;
}

/* Keeps @text. Errors: -EINVAL, with a caret at the wrong place. */
must_check int expression_parse(const char *text, struct expression *ret, struct error *e);

/* If @x is one leaf, perhaps with casts, returns it. Else NULL. */
const struct expression_node *expression_leaf(const struct expression *x);
