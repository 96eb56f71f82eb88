/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/kernel_types.h - offsets of members in the kernel's structures, from its BTF. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
