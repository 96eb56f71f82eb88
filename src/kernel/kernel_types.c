// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/kernel_types.h"

#include <string.h>

#include <bpf/btf.h>

/* The first structure of that name; NULL: there is none. */
static const struct btf_type *find_structure(const struct btf *btf, const char *name)
{
	const int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static uint32_t find_offset(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const uint32_t n = type ? btf_vlen(type) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name) == 0)
			return btf_member_bit_offset(type, i) / 8;
	return NO_MEMBER;
}

void kernel_types_read(const struct kernel_member *members, size_t n, uint32_t *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type = NULL;

	for (size_t i = 0; i < n; i++) {
		if (btf && (!i || strcmp(members[i].structure, members[i - 1].structure) != 0))
			type = find_structure(btf, members[i].structure);
		ret[i] = find_offset(btf, type, members[i].name);
	}
	btf__free(btf);
}
