/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel.h - the few structures of the kernel that the BPF programs read. The kernel's ABI
 * fixes them. So nothing is relocated, and libbpf parses no BTF of the kernel at the start.
 */
#pragma once

#if !defined(__TARGET_ARCH_x86)
#error "only x86-64 is supported: user registers and the frame layout are its own"
#endif

/* arch/x86/include/uapi/asm/ptrace.h: the same in all x86-64 kernels. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#define CS_USER_64 0x33 /* __USER_CS; __USER32_CS is 0x23, and kernel threads have 0 */
#define CS_RING_MASK 3

/* include/linux/mm.h: mmap()'s request for a free place. The same since Linux 3.7. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length; /* bytes */
};

#define LAST_ERROR 4095 /* include/linux/err.h: error codes in place of the last addresses */

/* A function with a frame pointer leaves this at (rbp). */
struct user_frame {
	unsigned long next;
	unsigned long return_address;
};

#define PAGE_SHIFT 12
#define VM_EXEC 4 /* include/linux/mm.h */

struct task_struct;

/* The first members, the same in all kernels. struct vma_offsets has the places of others. */
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};
