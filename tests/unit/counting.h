/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/unit/counting.h - stands in for bpf/object.h: programs of a few instructions that count. */
#pragma once

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/object.h"
#include "bpf/syscall.h"

struct object {
	int programs[PROGRAM_N];
	int map; /* one value: counters, of each program or each target */
	uint32_t tgid;
	enum target_by target_by;
};

static const enum bpf_prog_type types[PROGRAM_N] = {
	[PROGRAM_TRACEPOINT] = BPF_PROG_TYPE_TRACEPOINT, [PROGRAM_KPROBE] = BPF_PROG_TYPE_KPROBE,
	[PROGRAM_KPROBE_MULTI] = BPF_PROG_TYPE_KPROBE,   [PROGRAM_UPROBE] = BPF_PROG_TYPE_KPROBE,
	[PROGRAM_UPROBE_MULTI] = BPF_PROG_TYPE_KPROBE,   [PROGRAM_USDT] = BPF_PROG_TYPE_KPROBE,
	[PROGRAM_USDT_MULTI] = BPF_PROG_TYPE_KPROBE,
};

static const unsigned attach_types[PROGRAM_N] = {
	[PROGRAM_KPROBE_MULTI] = BPF_TRACE_KPROBE_MULTI,
	[PROGRAM_UPROBE_MULTI] = ABI_TRACE_UPROBE_MULTI,
	[PROGRAM_USDT_MULTI] = ABI_TRACE_UPROBE_MULTI,
};

int object_program_fd(const struct object *object, enum object_program program)
{
	return object->programs[program];
}

/* A program that counts hits of o->tgid, or of any with 0, in its own counter or by cookie. */
static int load_counter(const struct object *o, enum object_program program)
{
	const bool by_cookie = o->target_by == TARGET_BY_COOKIE;
	const struct bpf_insn insns[] = {
		MOVE_REG(BPF_REG_6, BPF_REG_1),
		CALL(BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32),
		INSN(BPF_JMP | (o->tgid ? BPF_JNE : BPF_JSET) | BPF_K, BPF_REG_0, 0, 10,
		     (int)o->tgid),
		MOVE_REG(BPF_REG_1, BPF_REG_6),
		by_cookie ? (struct bpf_insn)CALL(BPF_FUNC_get_attach_cookie)
			  : (struct bpf_insn)MOVE_IMM(BPF_REG_0, (int)program),
		INSN(BPF_JMP | BPF_JGE | BPF_K, BPF_REG_0, 0, 7, PROGRAM_N),
		INSN(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_0, 0, 0, 3),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, o->map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_1, BPF_REG_0, 0, 0),
		MOVE_IMM(BPF_REG_2, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 0, BPF_ADD),
		MOVE_IMM(BPF_REG_0, 0),
		MOVE_IMM(BPF_REG_0, 0),
		EXIT,
	};

	return instructions_load(types[program], attach_types[program], insns, ARRAY_SIZE(insns));
}

static void object_open(struct object *o, unsigned programs, uint32_t tgid)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = PROGRAM_N * 8,
		.max_entries = 1,
	};

	o->map = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	o->tgid = tgid;
	assert_true(o->map >= 0);
	for (int p = 0; p < PROGRAM_N; p++) {
		o->programs[p] = programs & 1u << p ? load_counter(o, p) : -1;
		assert_true(o->programs[p] >= 0 || !(programs & 1u << p));
	}
}

static void object_close(struct object *o)
{
	for (int p = 0; p < PROGRAM_N; p++)
		cleanup_close_fd(&o->programs[p]);
	cleanup_close_fd(&o->map);
}

static void read_counters(const struct object *o, uint64_t counters[PROGRAM_N])
{
	const uint32_t zero = 0;
	union bpf_attr attr = {
		.map_fd = (unsigned)o->map,
		.key = (uintptr_t)&zero,
		.value = (uintptr_t)counters,
	};

	assert_int_equal(sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)), 0);
}

static uint64_t hits(const struct object *o)
{
	uint64_t counters[PROGRAM_N], sum = 0;

	read_counters(o, counters);
	for (int p = 0; p < PROGRAM_N; p++)
		sum += counters[p];
	return sum;
}
