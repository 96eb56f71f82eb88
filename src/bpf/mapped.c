// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/mapped.h"

#include <sys/mman.h>

int mapped_open(const struct bpf_map *map, struct mapped *ret, struct error *e)
{
	size_t bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return error_errno(e, "map the kernel's '%s'", bpf_map__name(map));
	*ret = (struct mapped){ at, bytes };
	return 0;
}

void mapped_close(struct mapped *m)
{
	if (m->at)
		(void)munmap(m->at, m->bytes);
}
