// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/table_row.h"

#include <string.h>

#include "bpf/tables.h"

struct entries {
	const struct unwind_memory *memory;
	uint32_t place;
};

/* Copy @bytes, a multiple of 4, from @place. False: they are not all there. */
static bool read_words(const struct unwind_memory *m, uint32_t place, void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
		uint32_t word;

		if (!unwind_memory_read(m, place + (uint32_t)i, &word))
			return false;
		memcpy((uint8_t *)to + i, &word, sizeof(word));
	}
	return true;
}

static _Bool read_entry_at(void *from, __u32 i, struct unwind_entry *ret)
{
	const struct entries *e = from;

	return read_words(e->memory, e->place + i * (uint32_t)sizeof(*ret), ret, sizeof(*ret));
}

enum unwind_end table_row(const struct unwind_memory *m, uint32_t place, uint64_t vaddr,
			  struct unwind_rule *ret)
{
	struct unwind_image image = {};
	uint32_t first, last, page;
	uint16_t number;

	*ret = (struct unwind_rule){};
	if (!read_words(m, place, &image, sizeof(image)) || !image.n_pages)
		return UNWIND_END_NO_TABLE_YET;
	vaddr -= image.base;
	if (vaddr >> UNWIND_PAGE_BITS >= image.n_pages)
		return UNWIND_GOES_ON;
	page = image.pages + (uint32_t)(vaddr >> UNWIND_PAGE_BITS) * 4;
	if (!unwind_memory_read(m, page, &first) || !unwind_memory_read(m, page + 4, &last) ||
	    !unwind_find(first, last, (uint16_t)vaddr, read_entry_at,
			 &(struct entries){ m, image.entries }, &number) ||
	    number >= image.n_rules)
		return UNWIND_GOES_ON;
	(void)read_words(m, image.rules + number * (uint32_t)sizeof(*ret), ret, sizeof(*ret));
	return UNWIND_GOES_ON;
}
