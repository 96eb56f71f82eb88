// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/perf_ring.h"

#include <string.h>

void perf_ring_copy(const struct perf_event_mmap_page *page, uint64_t at, void *to, size_t n)
{
	const uint64_t size = page->data_size;
	const uint8_t *data = (const uint8_t *)page + page->data_offset;
	const uint64_t begin = at & (size - 1);
	const size_t first = n <= size - begin ? n : (size_t)(size - begin);

	memcpy(to, data + begin, first);
	if (first < n)
		memcpy((uint8_t *)to + first, data, n - first);
}
