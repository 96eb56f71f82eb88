/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/values.h - the values of events: where the names of an expression are at a hit, and which
 * names a target has.
 */
#pragma once

#include "base/error.h"
#include "kernel/host.h"
#include "match/expression.h"
#include "match/target.h"

struct resolved_value {
	struct expression x; /* its leaves are numbers and places */
	const char *unit;    /* "bytes", "nanoseconds"; NULL: none is known. A constant */
	size_t wrong_at;     /* after an error: where the leaf is in the text */
};

/*
 * Find the leaves of @x at hits of @target.
 *
 * Errors: -ENOENT     the target has no such field or argument; the message offers near names
 *         -EOPNOTSUPP it has, but its value is no number, or cannot be read there
 *         -ENODATA    the kernel's BTF does not describe the function
 *         those of reading tracefs
 */
must_check int value_resolve(const struct expression *x, const struct target *target,
			     struct host *host, struct resolved_value *ret, struct error *e);

/* Strings are valid during the visit, and not escaped. */
struct named_value {
	const char *name;     /* "count", "arg1", or NAMED_ARGUMENTS for all of them */
	const char *type;     /* as declared; of a USDT probe its place; "" */
	struct value_type as; /* the number that it is in an expression; .bytes 0: it is none */
	const char *remark;   /* its unit, why it is no number, a hint; "" */
	struct expression_node place; /* of the number, if the list tells it */
};

#define NAMED_ARGUMENTS "arg1, arg2 ..."

/*
 * Call @visit for each, in the order of the declaration. A perf event has none. Errors: those of
 * reading tracefs. If the kernel's BTF does not describe a function, it has NAMED_ARGUMENTS, and
 * the remark says why.
 */
typedef void named_value_visit(void *context, const struct named_value *value);
must_check int value_list_each(const struct target *target, struct host *host,
			       named_value_visit *visit, void *context, struct error *e);

/*
 * The arguments of a USDT probe, by its note: "-4@-12(BASE) 8@$5". The text before the '@' is the
 * size, negative if the value has a sign. Pure: the text may be hostile.
 */
#define USDT_ARGUMENT_BYTES 64

struct usdt_argument {
	char text[USDT_ARGUMENT_BYTES];
	const char *unknown;         /* why it has no value; NULL: it has */
	struct expression_node node; /* its number or place */
};

/* Take the argument at *@at, and move *@at behind it. False: there are no more. */
bool usdt_argument_next(const char **at, struct usdt_argument *ret);
