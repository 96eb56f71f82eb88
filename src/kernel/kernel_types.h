/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/kernel_types.h - offsets of members in the kernel's structures, for reads of its memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kernel_member {
	const char *structure;
	const char *name;
};

#define NO_MEMBER UINT32_MAX

/*
 * Put the byte offset of each of @members into @ret. NO_MEMBER: it does not exist, lies in a nested
 * structure without a name, or the kernel's BTF cannot be read. libbpf reads all of the BTF: 10 ms.
 */
void kernel_types_read(const struct kernel_member *members, size_t n, uint32_t *ret);
