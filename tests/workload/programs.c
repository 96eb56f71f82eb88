// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * programs N - for each I below N: load a BPF program late_I, take its name, run it I + 1 times,
 * and unload it. The last one is kept. With "slowly" all are kept, and each waits for a line on
 * standard input.
 *
 * A run makes one hit of bpf_trace:bpf_trace_printk. The programs are the same but for their names,
 * so that each is likely to lie where an unloaded one was.
 */
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>

#include "work.h"

#define TEXT 0x0a657461 /* "ate\n" */

static uint64_t n;
static int is_slow;

static int sys_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int ret = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (ret < 0) {
		perror("bpf");
		exit(1);
	}
	return ret;
}

static int load(const char *name)
{
	const struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8 },
		{ BPF_ST | BPF_MEM | BPF_W, BPF_REG_1, 0, 0, TEXT },
		{ BPF_ST | BPF_MEM | BPF_W, BPF_REG_1, 0, 4, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_trace_printk },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insns = (uintptr_t)insns,
				.insn_cnt = sizeof(insns) / sizeof(insns[0]),
				.license = (uintptr_t) "GPL" };

	memcpy(attr.prog_name, name, strlen(name));
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

static void test_run(int program)
{
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)program } };

	(void)sys_bpf(BPF_PROG_TEST_RUN, &attr);
}

/* Its memory is free when all CPUs have left what they were in. */
static void unload(int program)
{
	(void)close(program);
	for (int i = 0; i < 3; i++)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

FRAME static void run(void)
{
	char name[16];

	for (uint64_t i = 0; i < n; i++) {
		int program;

		(void)snprintf(name, sizeof(name), "late_%u", (unsigned)i);
		program = load(name);
		(void)prctl(PR_SET_NAME, name);
		for (uint64_t k = 0; k <= i; k++)
			test_run(program);
		printf("%s\n", name);
		(void)fflush(stdout);
		if (is_slow)
			work_pause();
		if (!is_slow && i + 1 < n)
			unload(program);
	}
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N [slowly]");
	n = work_number(argv[0]);
	is_slow = argv[1] && strcmp(argv[1], "slowly") == 0;
	work_run(run);
	return 0;
}
