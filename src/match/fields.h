/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/fields.h - which fields of tracepoints and arguments of functions are numbers. Pure. */
#pragma once

#include <stdbool.h>

#include "kernel/host.h"
#include "spec/expression.h"

struct number_kind {
	struct value_type type;
	const char *unit; /* "bytes", "nanoseconds"; NULL: none is known. A constant */
	const char *lack; /* why it is no number that can be read; NULL: it is one. A constant */
};

struct number_kind field_kind(const struct tracepoint_field *field);

/* Is it one of the fields that all tracepoints have? Programs cannot read these. */
bool field_is_common(const struct tracepoint_field *field);

/* Of a kernel function's argument or result. */
struct number_kind argument_kind(const struct function_value *value);
