/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/values.h - from an expression and a target to places: where its names are at a hit. */
#pragma once

#include "base/error.h"
#include "kernel/host.h"
#include "match/target.h"
#include "spec/expression.h"

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
