// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/members.h"

#include <stddef.h>

#include "kernel/kernel_types.h"

/*
 * Up to VMA_WANTED: the members by which programs find a mapped file and a task's process. A kernel
 * may lack those from VMA_MEMBERS on. Behind them are those of .cast, then those of .context.
 */
enum {
	PROT,
	OPS,
	PGOFF,
	FILE_OF,
	INODE,
	SB,
	INO,
	MTIME,
	MTIME_6_6,
	MTIME_6_11,
	NS_6_11,
	SIZE,
	DEV,
	TGID,
	MM,
	VMA_MEMBERS,
	MM_UNNAMED = VMA_MEMBERS,
	END_CODE,
	START_STACK,
	VMA_WANTED,
	CAST_TYPE_ID = VMA_WANTED,
	CAST_CALL_ID,
	CAST_WANTED,
	PREEMPT_COUNT = CAST_WANTED,
	PREEMPT_COUNT_6_2,
	HARDIRQ_DISABLE,
	MEMBERS
};

static const struct kernel_member all_members[MEMBERS] = {
	[PROT] = { "vm_area_struct", "vm_page_prot" },
	[OPS] = { "vm_area_struct", "vm_ops" },
	[PGOFF] = { "vm_area_struct", "vm_pgoff" },
	[FILE_OF] = { "vm_area_struct", "vm_file" },
	[INODE] = { "file", "f_inode" },
	[SB] = { "inode", "i_sb" },
	[INO] = { "inode", "i_ino" },
	[MTIME] = { "inode", "i_mtime" },
	[MTIME_6_6] = { "inode", "__i_mtime" },    /* Linux commit 12cd44023651 */
	[MTIME_6_11] = { "inode", "i_mtime_sec" }, /* 3aa63a569c64 */
	[NS_6_11] = { "inode", "i_mtime_nsec" },
	[SIZE] = { "inode", "i_size" },
	[DEV] = { "super_block", "s_dev" },
	[TGID] = { "task_struct", "tgid" },
	[MM] = { "task_struct", "mm" },
	[MM_UNNAMED] = { "mm_struct", "" }, /* it contains nearly all members */
	[END_CODE] = { "", "end_code" },
	[START_STACK] = { "", "start_stack" },
	[CAST_TYPE_ID] = { "timespec64", NULL },
	[CAST_CALL_ID] = { NULL, "bpf_rdonly_cast" },
	[PREEMPT_COUNT] = { NULL, "__preempt_count" },
	[PREEMPT_COUNT_6_2] = { NULL, "pcpu_hot" }, /* until 6.14; Linux commit 64701838bf05 */
	[HARDIRQ_DISABLE] = { "interrupt_disable_state", "flags" }, /* preempt_count counts it */
};

/*
 * The place of preempt_count and its bits: include/linux/preempt.h. The bits moved up by eight when
 * a count of disabled interrupts was inserted.
 */
static void set_context_offsets(const uint32_t at[MEMBERS], struct context_offsets *ret)
{
	const bool is_hot = at[PREEMPT_COUNT_6_2] != NO_MEMBER;
	const bool is_moved = at[HARDIRQ_DISABLE] != NO_MEMBER;
	const uint32_t id = is_hot ? at[PREEMPT_COUNT_6_2] : at[PREEMPT_COUNT];

	if (id == NO_MEMBER)
		return;
	*ret = (struct context_offsets){
		.variable = id,
		.offset = is_hot ? 8 : 0, /* behind current_task */
		.hardirq_mask = is_moved ? 0x0f000000 : 0x000f0000,
		.nmi_mask = is_moved ? 0x10000000 : 0x00f00000,
	};
}

static void set_vma_offsets(uint32_t at[MEMBERS], struct vma_offsets *ret)
{
	if (at[MTIME] == NO_MEMBER)
		at[MTIME] = at[MTIME_6_6];
	if (at[MTIME] == NO_MEMBER)
		at[MTIME] = at[MTIME_6_11];
	else
		at[NS_6_11] = at[MTIME] + 8; /* struct timespec64 */
	*ret = (struct vma_offsets){
		.is_known = 1,
		.vm_flags = at[PROT] + 8, /* behind it; since Linux 6.3 in a union (1c71222e5f23) */
		.vm_ops = at[OPS],
		.vm_pgoff = at[PGOFF],
		.vm_file = at[FILE_OF],
		.f_inode = at[INODE],
		.i_sb = at[SB],
		.i_ino = at[INO],
		.i_size = at[SIZE],
		.i_mtime = at[MTIME],
		.i_mtime_ns = at[NS_6_11],
		.s_dev = at[DEV],
		.tgid = at[TGID],
		.mm = at[MM],
	};
	for (size_t i = 0; i < VMA_MEMBERS; i++)
		if (at[i] == NO_MEMBER && i != MTIME_6_6 && i != MTIME_6_11)
			ret->is_known = 0;
}

static bool is_wanted(struct wanted_members wanted, int member)
{
	if (member < VMA_WANTED)
		return wanted.vma;
	return member < CAST_WANTED ? wanted.cast : wanted.context;
}

/* The offset in struct mm_struct of a member of its first structure without a name. 0: unknown. */
static uint32_t mm_offset(const uint32_t at[MEMBERS], int member)
{
	return at[MM_UNNAMED] != NO_MEMBER && at[member] != NO_MEMBER ? at[MM_UNNAMED] + at[member]
								      : 0;
}

int kernel_members_read(struct wanted_members wanted, struct kernel_members *ret, struct error *e)
{
	struct kernel_member members[MEMBERS] = {};
	uint32_t at[MEMBERS];
	int err;

	for (int i = 0; i < MEMBERS; i++)
		if (is_wanted(wanted, i))
			members[i] = all_members[i];
	err = kernel_types_read(KERNEL_BTF, members, MEMBERS, at, e);
	*ret = (struct kernel_members){};
	if (err)
		return err;
	if (wanted.vma)
		set_vma_offsets(at, &ret->vma);
	if (wanted.context)
		set_context_offsets(at, &ret->context);
	ret->vma.start_stack = mm_offset(at, START_STACK);
	ret->vma.end_code = wanted.context ? mm_offset(at, END_CODE) : 0;
	if (at[CAST_TYPE_ID] != NO_MEMBER && at[CAST_CALL_ID] != NO_MEMBER)
		ret->cast = (struct cast_ids){ at[CAST_CALL_ID], at[CAST_TYPE_ID] };
	return 0;
}
