/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/value_code.h - expressions (match/expression.h) as instructions: a function for
 * value_of_hit() of filter.bpf.h. No compiler is needed.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "match/expression.h"

struct value_code {
	struct bpf_insn *insns;
	size_t n, capacity;
	bool is_unsigned; /* all expressions have unsigned values of 64 bits */
};

/*
 * Make the function for the @n expressions at @of, at most VALUES_MOST. Their leaves are numbers
 * and places. With @by_helper, a helper reads the context. Several expressions need it where one is
 * of a tracepoint: the kernel allows its program no load behind the end of its record, whichever
 * expression is calculated.
 * Errors: -E2BIG. *@ret is the caller's in any case.
 */
must_check int value_code_make(const struct expression *of, size_t n, bool by_helper,
			       struct value_code *ret, struct error *e);
void value_code_fini(struct value_code *code);
