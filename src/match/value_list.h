/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/value_list.h - the names that an expression may have at a target, with their types. */
#pragma once

#include "base/error.h"
#include "kernel/host.h"
#include "match/target.h"
#include "spec/expression.h"

/* Strings are valid during the visit, and not escaped. */
struct named_value {
	const char *name;     /* "count", "arg1", or NAMED_ARGUMENTS for all of them */
	const char *type;     /* as declared; of a USDT probe its place; "" */
	struct value_type as; /* the number that it is in an expression; .bytes 0: it is none */
	const char *remark;   /* its unit, why it is no number, a hint; "" */
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
