/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/kernel_types.h - the types of the kernel, from its BTF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kernel_types;
struct type_file;

/* Read the kernel's BTF, in 10 ms. Errors: -ENOENT: it has none that can be read. */
must_check int kernel_types_read(struct kernel_types **ret, struct error *e);
void kernel_types_free(struct kernel_types *t);

/* --- offsets of members in structures --- */

struct kernel_member {
	/* The name of a structure, "" of those without a name. NULL: @name is no member. */
	const char *type;
	/* Of a member, or of a variable or function. NULL: the structure itself. */
	const char *name;
};

#define NO_MEMBER UINT32_MAX

/*
 * Put the byte offset of each of @members into @ret, in the first structure of that name that has
 * it. For a variable, a function or a structure itself, put its BTF ID. NO_MEMBER: it does not
 * exist, or lies in a nested structure without a name. Takes 3 ms.
 */
void kernel_types_find(const struct kernel_types *t, const struct kernel_member *members, size_t n,
		       uint32_t *ret);

/* --- arguments and results of functions --- */

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

/*
 * Call @visit for each argument of @function, then for its result. A result other than 0 ends the
 * walk and is returned. @module: where the function is; NULL: anywhere. Errors: -ENODATA: no BTF
 * describes that function.
 */
typedef int function_types_visit(void *context, const struct function_value *value);
must_check int function_types_each(struct kernel_types *t, const char *function, const char *module,
				   function_types_visit *visit, void *context, struct error *e);

/* The type of @value in C: "const struct path *". Lent until the next call. */
const char *function_types_text(const struct function_value *value);
