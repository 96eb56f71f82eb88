/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/syscall.h - the system call bpf(), below libbpf: structures that are newer than the
 * distribution's headers, and programs of a few instructions.
 */
#pragma once

#include <assert.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * --- newer than Linux 6.1, from include/uapi/linux/bpf.h ---
 *
 * Older kernels take or fill in the members that they know, which are the first ones.
 */

#define ABI_TRACE_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, Linux 6.6 */

/* For BPF_LINK_CREATE with it. */
struct uapi_uprobe_multi {
	__u32 prog_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 link_flags;
	__u64 path;
	__u64 offsets;             /* __u64[cnt]: offsets in the file */
	__u64 ref_counter_offsets; /* __u64[cnt], or 0 */
	__u64 cookies;             /* __u64[cnt], or 0 */
	__u32 cnt;
	__u32 flags;
	__u32 pid; /* 0: every process */
	__u32 pad;
};
static_assert(sizeof(struct uapi_uprobe_multi) == 64, "uapi");

/*
 * The answer of BPF_OBJ_GET_INFO_BY_FD for a link, with the members that count missed hits: Linux
 * 6.7.
 */
struct uapi_link_info {
	__u32 type;
	__u32 id;
	__u32 prog_id;
	__u32 pad;
	union {
		struct {
			__u64 addrs;
			__u32 count;
			__u32 flags;
			__u64 missed;
		} kprobe_multi;
		struct {
			__u32 type;
			__u32 pad;
			__u64 function;
			__u32 name_len;
			__u32 offset;
			__u64 addr;
			__u64 missed;
		} perf_kprobe; /* with @type UAPI_PERF_EVENT_KPROBE or _KRETPROBE */
	};
};
static_assert(sizeof(struct uapi_link_info) == 56, "uapi");

#define UAPI_PERF_EVENT_KPROBE 3    /* BPF_PERF_EVENT_KPROBE */
#define UAPI_PERF_EVENT_KRETPROBE 4 /* BPF_PERF_EVENT_KRETPROBE */
#define UAPI_KPROBE_MULTI_RETURN 1  /* BPF_F_KPROBE_MULTI_RETURN */

/* The kernel's own ENOTSUPP, which user space gets if an instruction cannot be probed. */
#define UAPI_ENOTSUPP 524

/* --- programs of a few instructions: to try features, and for tests --- */

#define INSN(c, dst, src, offset, value)                                                         \
	{                                                                                        \
		.code = (c), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value) \
	}
#define MOVE_IMM(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define MOVE_REG(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static inline int sys_bpf(enum bpf_cmd cmd, const void *attr, unsigned size)
{
	return (int)syscall(SYS_bpf, cmd, attr, size);
}

/* Load a program. Returns its descriptor, or -1 with errno. */
static inline int instructions_load(enum bpf_prog_type type, unsigned attach_type,
				    const struct bpf_insn *insns, unsigned n)
{
	union bpf_attr attr = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.insns = (uintptr_t)insns,
		.insn_cnt = n,
		.license = (uintptr_t) "GPL",
	};

	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}
