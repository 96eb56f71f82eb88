/* rooms: kernel base; alone */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <bpf/btf.h>

#include "kernel/kernel_types.h"

static const struct kernel_member members[] = {
	{ "vm_area_struct", "vm_file" },
	{ "vm_area_struct", "vm_pgoff" },
	{ "file", "f_inode" },
	{ "inode", "i_sb" },
	{ "inode", "i_ino" },
	{ "super_block", "s_dev" },
	{ "task_struct", "comm" },
	{ "task_struct", "tgid" },
	{ "inode", "no_such_member" },
	{ "no_such_structure", "i_ino" },
	{ NULL, "runqueues" }, /* per-CPU variables */
	{ NULL, "no_such_variable" },
	{ "timespec64", NULL },      /* a structure itself */
	{ NULL, "bpf_rdonly_cast" }, /* a function */
};

static uint32_t member_at(const struct btf *btf, const struct btf_type *t, const char *name)
{
	for (unsigned i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name) == 0)
			return btf_member_bit_offset(t, i) / 8;
	return NO_MEMBER;
}

static uint32_t id_by_libbpf(const struct btf *btf, const char *name, uint32_t kind)
{
	const int id = btf__find_by_name_kind(btf, name, kind);

	return id < 0 ? NO_MEMBER : (uint32_t)id;
}

static uint32_t by_libbpf(const struct btf *btf, const struct kernel_member *wanted)
{
	uint32_t id;

	if (!wanted->type) {
		id = id_by_libbpf(btf, wanted->name, BTF_KIND_VAR);
		return id == NO_MEMBER ? id_by_libbpf(btf, wanted->name, BTF_KIND_FUNC) : id;
	}
	id = id_by_libbpf(btf, wanted->type, BTF_KIND_STRUCT);
	return wanted->name ? member_at(btf, btf__type_by_id(btf, id), wanted->name) : id;
}

TEST(members_are_where_libbpf_finds_them)
{
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	uint32_t found[ARRAY_SIZE(members)];
	struct kernel_types *types;
	struct error e;

	assert_non_null(btf);
	assert_int_equal(kernel_types_read(&types, &e), 0);
	kernel_types_find(types, members, ARRAY_SIZE(members), found);
	kernel_types_free(types);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		assert_int_equal(found[i], by_libbpf(btf, &members[i]));
	assert_int_not_equal(found[0], NO_MEMBER);
	assert_int_equal(found[8], NO_MEMBER);
	assert_int_equal(found[9], NO_MEMBER);
	assert_int_not_equal(found[10], NO_MEMBER);
	assert_int_not_equal(found[12], NO_MEMBER);
	assert_int_not_equal(found[13], NO_MEMBER);
	btf__free(btf);
}

/* Such a structure is the one that another has as a member without a name. */
TEST(members_of_a_structure_without_a_name)
{
	static const struct kernel_member wanted[] = {
		{ "", "end_code" }, /* named structures have such a member, too */
		{ "", "no_such_member" },
	};
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	uint32_t found[ARRAY_SIZE(wanted)];
	struct kernel_types *types;
	const struct btf_type *mm;
	struct error e;

	assert_non_null(btf);
	mm = btf__type_by_id(btf,
			     (unsigned)btf__find_by_name_kind(btf, "mm_struct", BTF_KIND_STRUCT));
	assert_int_equal(kernel_types_read(&types, &e), 0);
	kernel_types_find(types, wanted, ARRAY_SIZE(wanted), found);
	kernel_types_free(types);
	assert_int_equal(found[0],
			 member_at(btf, btf__type_by_id(btf, btf_members(mm)[0].type), "end_code"));
	assert_int_not_equal(found[0], NO_MEMBER);
	assert_int_equal(found[1], NO_MEMBER);
	btf__free(btf);
}

TEST_MAIN(NULL, NULL)
