/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/usdt_argument.h - the arguments of a USDT probe, by its note: "-4@-12(BASE) 8@$5". The text
 * before the '@' is the size, negative if the value has a sign. Pure: the text may be hostile.
 */
#pragma once

#include <stdbool.h>

#include "spec/expression.h"

#define USDT_ARGUMENT_BYTES 64

struct usdt_argument {
	char text[USDT_ARGUMENT_BYTES];
	const char *unknown;         /* why it has no value; NULL: it has */
	struct value_type type;      /* .bytes 0: unknown */
	struct expression_node node; /* its number or place */
};

/* Take the argument at *@at, and move *@at behind it. False: there are no more. */
bool usdt_argument_next(const char **at, struct usdt_argument *ret);
