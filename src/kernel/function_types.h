/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/function_types.h - the arguments and results of kernel functions, from the kernel's BTF.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct function_types;
struct type_file;

struct function_value {
	const char *name; /* "" without a name, and of the result. Lent by the types */
	uint32_t number;  /* of an argument from 1 on; 0: the result */
	/*
	 * The position among the values that are passed in registers and then on the stack; 0: it
	 * is not known, as behind a structure.
	 */
	uint32_t position;
	uint32_t bytes; /* 0: it is no number: void, a structure */
	bool is_signed;
	bool is_size;           /* size_t or ssize_t */
	struct type_file *file; /* for function_types_text() */
	uint32_t type;
};

/* Read the kernel's BTF, in 10 ms. Errors: -ENOENT: it has none that can be read. */
must_check int function_types_read(struct function_types **ret, struct error *e);
void function_types_free(struct function_types *t);

/*
 * Call @visit for each argument of @function, then for its result. A result other than 0 ends the
 * walk and is returned. @module: where the function is; NULL: anywhere. Errors: -ENODATA: no BTF
 * describes that function.
 */
typedef int function_types_visit(void *context, const struct function_value *value);
must_check int function_types_each(struct function_types *t, const char *function,
				   const char *module, function_types_visit *visit, void *context,
				   struct error *e);

/* The type of @value in C: "const struct path *". Lent until the next call. */
const char *function_types_text(const struct function_value *value);
