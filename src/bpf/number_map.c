// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/number_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int number_map_add(const struct bpf_map *map, const uint32_t *numbers, size_t n, const char *what,
		   struct error *e)
{
	const __u32 one = 1;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(bpf_map__fd(map), &numbers[i], &one, BPF_ANY))
			return error_errno(e, "add %s %u to the filter", what, numbers[i]);
	return 0;
}
