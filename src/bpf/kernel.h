/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel.h - the few structures of the kernel that the BPF programs read. The kernel's ABI
 * fixes them. So nothing is relocated, and libbpf parses no BTF of the kernel at the start.
 */
#pragma once

#include "arch/arch.bpf.h"

/* include/linux/mm.h: mmap()'s request for a free place. The same since Linux 3.7. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length; /* bytes */
};

#define LAST_ERROR 4095 /* include/linux/err.h: error codes in place of the last addresses */

#define VM_EXEC 4 /* include/linux/mm.h */

struct task_struct;

/* The first members, the same in all kernels. struct vma_offsets has the places of others. */
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};
