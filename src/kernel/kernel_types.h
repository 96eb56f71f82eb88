/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/kernel_types.h - the types of the kernel, from its BTF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- offsets of members in structures --- */

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Names have at most 62 bytes. */
struct kernel_member {
	/*
	 * The name of a structure. "": the first structure without a name that has @name. NULL:
	 * @name is a variable or a function; or, if that is NULL too, nothing is wanted.
	 */
	const char *type;
	const char *name; /* NULL: the structure itself */
};

#define NO_MEMBER UINT32_MAX

/*
 * Put the byte offset of each of @members into @ret, in the first structure of that name. For a
 * variable, a function or a structure itself, put its BTF ID. NO_MEMBER: it does not exist, lies in
 * a nested structure without a name, or was not wanted. At most 32 members. Errors: -ENOENT there
 * is no @path; -EINVAL it is not BTF, or of an unknown kind.
 *
 * This reads the names once, and then the types up to the last wanted one: 0.8 ms for members of
 * structures, 3 ms with functions and variables, or with names that do not exist. Where the kernel
 * cannot map the file (before Linux 6.16), 1 to 3 ms more.
 */
must_check int kernel_types_read(const char *path, const struct kernel_member *members, size_t n,
				 uint32_t *ret, struct error *e);

/* --- arguments and results of functions --- */

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
