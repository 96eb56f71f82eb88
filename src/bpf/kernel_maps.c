// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/kernel_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"

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

static void add_counts(struct kernel_counts *to, const struct kernel_counts *from)
{
	for (int i = 0; i < KERNEL_END_SLOTS; i++)
		to->n[i] += from->n[i];
	to->n_skipped += from->n_skipped;
	to->n_checked += from->n_checked;
	to->n_wrong += from->n_wrong;
}

bool kernel_maps_counts(const struct kernel_maps *m, uint32_t n_cpus, struct kernel_counts *ret)
{
	const size_t slot_bytes = (bpf_map__value_size(m->scratch) + 7) / 8 * 8;
	cleanup_free char *slots = xcalloc(n_cpus, slot_bytes);

	*ret = (struct kernel_counts){};
	for (__u32 i = 0; i < bpf_map__max_entries(m->scratch); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(m->scratch), &i, slots))
			return false;
		for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
			add_counts(ret, (const void *)(slots + cpu * slot_bytes));
	}
	return true;
}
