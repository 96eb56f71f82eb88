/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel.h - the structures of the kernel that the BPF programs read, as far as they read them.
 *
 * libbpf puts the members' offsets in this kernel into the programs (CO-RE). A member that not all
 * kernels have needs bpf_core_field_exists() before each use. The structures themselves exist in
 * all kernels: libbpf would look for a missing one in the BTF of all modules. Before libbpf 1.3 it
 * ends the load if this user has no CAP_SYS_ADMIN.
 */
#pragma once

#include "arch/arch.bpf.h"

#define MEMBERS_BY_CORE __attribute__((preserve_access_index))

struct super_block {
	__u32 s_dev;
} MEMBERS_BY_CORE;

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
} MEMBERS_BY_CORE;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
	struct timespec64 i_mtime;   /* until Linux 6.5 */
	struct timespec64 __i_mtime; /* then, since Linux commit 12cd44023651 */
	__s64 i_mtime_sec;           /* since 3aa63a569c64 (in v6.11), with the next one */
	__u32 i_mtime_nsec;
} MEMBERS_BY_CORE;

struct file {
	struct inode *f_inode;
} MEMBERS_BY_CORE;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	const void *vm_ops;
	struct file *vm_file;
} MEMBERS_BY_CORE;

#define VM_EXEC 4 /* include/linux/mm.h */

struct mm_struct {
	unsigned long end_code, start_stack;
} MEMBERS_BY_CORE;

struct task_struct {
	int pid, tgid;
	unsigned flags;
	struct mm_struct *mm;
} MEMBERS_BY_CORE;

/* The same in all kernels. */
#define PF_EXITING 4    /* include/linux/sched.h: the thread ends */
#define CLONE_VM 0x100U /* include/uapi/linux/sched.h */

/* include/linux/mm.h: mmap()'s request for a free place. The same since Linux 3.7. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length; /* bytes */
};

#define LAST_ERROR 4095 /* include/linux/err.h: error codes in place of the last addresses */
