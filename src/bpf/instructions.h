/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/instructions.h - build and load programs of a few instructions, to try features and for
 * tests.
 */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Load a program; one of type SYSCALL may sleep. Returns its descriptor, or -1 with errno. */
static inline int instructions_load(enum bpf_prog_type type, unsigned attach_type,
				    const struct bpf_insn *insns, unsigned n)
{
	union bpf_attr attr = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.insns = (uintptr_t)insns,
		.insn_cnt = n,
		.license = (uintptr_t) "GPL",
		.prog_flags = type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0,
	};

	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}
