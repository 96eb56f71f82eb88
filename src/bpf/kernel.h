/*
 * bpf/kernel.h - the few things of the kernel that the BPF programs read. Fixed by
 * ABI, so nothing is relocated and libbpf parses no BTF of the kernel at start-up.
 */
#pragma once

#if !defined(__TARGET_ARCH_x86)
#error "only x86-64 is supported: user registers and the frame layout are its own"
#endif

/* arch/x86/include/uapi/asm/ptrace.h: the same for every x86-64 kernel. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#define CS_USER_64 0x33 /* __USER_CS; __USER32_CS is 0x23, and 0 is a kernel thread's */
#define CS_RING_MASK 3

/* include/linux/mm.h: what mmap() looks for a free place by. The same since Linux 3.7. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length; /* bytes */
};

#define LAST_ERROR 4095 /* include/linux/err.h: addresses of so many last bytes are errors */

/* What a function with a frame pointer leaves at (rbp). */
struct user_frame {
	unsigned long next;
	unsigned long return_address;
};

#define PAGE_SHIFT 12
#define VM_EXEC 4 /* include/linux/mm.h */

struct task_struct;

/* Its first members, in every kernel; where others are is told by struct vma_offsets. */
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};
