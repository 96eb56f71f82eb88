// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/kernel_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/instructions.h"

int kernel_maps_add(const struct kernel_maps *m, enum kernel_image_number number, size_t bytes,
		    kernel_image_fill *fill, void *context, struct error *e)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	const __u32 key = number;
	cleanup_close int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "kernel_image", sizeof(__u32),
					      sizeof(__u64), (__u32)(bytes / sizeof(__u64)), &opts);
	void *at;

	if (fd < 0)
		return error_errno(e, "get memory for the kernel's unwind tables");
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return error_errno(e, "map memory for the kernel's unwind tables");
	fill(context, at);
	(void)munmap(at, bytes);
	if (bpf_map_update_elem(bpf_map__fd(m->images), &key, &fd, BPF_ANY))
		return error_errno(e, "publish the kernel's unwind tables");
	return 0;
}

/* See struct kernel_walks. The tracepoint comes before the code is unmapped. */
int kernel_maps_watch_modules(const struct kernel_maps *m)
{
	const int at = (int)(m->walks_at + offsetof(struct kernel_walks, generation));
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0,
		     bpf_map__fd(m->memory)),
		INSN(0, 0, 0, 0, at),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 0, 0),
		INSN(BPF_JMP | BPF_JGE | BPF_K, BPF_REG_2, 0, 2, (int)LAST_GENERATION),
		MOVE_IMM(BPF_REG_3, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_W, BPF_REG_1, BPF_REG_3, 0, BPF_ADD),
		MOVE_IMM(BPF_REG_0, 0),
		EXIT,
	};
	cleanup_close int program =
		instructions_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, insns, ARRAY_SIZE(insns));
	const union bpf_attr attr = {
		.raw_tracepoint = {
			.name = (uintptr_t) "module_free",
			.prog_fd = (uint32_t)program,
		},
	};

	return program < 0 ? -1 : sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

static void add_counts(struct slot_counts *to, const struct slot_counts *from)
{
	for (int i = 0; i < KERNEL_END_SLOTS; i++)
		to->kernel.n[i] += from->kernel.n[i];
	to->kernel.n_skipped += from->kernel.n_skipped;
	to->kernel.n_checked += from->kernel.n_checked;
	to->kernel.n_wrong += from->kernel.n_wrong;
	to->cost.n_hits += from->cost.n_hits;
	to->cost.n_measured += from->cost.n_measured;
	to->cost.ns += from->cost.ns;
}

bool kernel_maps_counts(const struct kernel_maps *m, uint32_t n_cpus, struct slot_counts *ret)
{
	const size_t slot_bytes = ((size_t)bpf_map__value_size(m->scratch) + 7) / 8 * 8;
	cleanup_free char *slots = xcalloc(n_cpus, slot_bytes);

	*ret = (struct slot_counts){};
	for (__u32 i = 0; i < bpf_map__max_entries(m->scratch); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(m->scratch), &i, slots))
			return false;
		for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
			add_counts(ret, (const void *)(slots + cpu * slot_bytes));
	}
	return true;
}
